/** When the next page is asked for while pages are at hand. */
import { describe, expect, it } from "vitest";
import { DeliveryDriver, upTo } from "../../test/support/delivery-driver.js";
import type { StoredEvent } from "../model/event.js";

const policy = { stride: 10_000 };

/** The page was at hand, and there is more. */
function arriveNear(driver: DeliveryDriver, events: readonly StoredEvent[]): void {
  const through = events.at(-1)?.seq ?? 0;
  driver.send({ type: "arrived", events, through, atHead: false, isNear: true, nowMs: driver.nowMs });
}

function fetches(driver: DeliveryDriver): number[] {
  return driver.of("fetch").map(({ after }) => after);
}

describe("pages at hand", () => {
  it("are not asked for while enough is ready, and are as soon as it is handed out", () => {
    const driver = new DeliveryDriver({ policy });
    arriveNear(driver, upTo(128));
    driver.grew();
    expect(fetches(driver)).toEqual([0]);
    driver.demand(1);
    expect(fetches(driver)).toEqual([0, 128]);
  });

  it("are asked for when all that is ready went out and nothing is done yet", () => {
    const driver = new DeliveryDriver({ policy });
    arriveNear(driver, upTo(128));
    expect(driver.seqs()).toHaveLength(128);
    expect(fetches(driver)).toEqual([0, 128]);
  });

  it("P4: are asked for although a key that waits has many events behind it", () => {
    const driver = new DeliveryDriver({ policy });
    arriveNear(driver, upTo(300, "k"));
    expect(driver.state.ready.length).toBe(1);
    expect(fetches(driver)).toEqual([0, 300]);
  });

  it("are asked for until a whole batch is ready", () => {
    const driver = new DeliveryDriver({ policy });
    driver.demand(200, true);
    arriveNear(driver, upTo(128));
    expect(fetches(driver)).toEqual([0, 128]);
    arriveNear(driver, upTo(256).slice(128));
    expect(fetches(driver)).toEqual([0, 128]);
    expect(driver.seqs(200, true)).toHaveLength(200);
    expect(fetches(driver)).toEqual([0, 128, 256]);
  });

  it("that have to be read are asked for ahead, as far as the bounds allow", () => {
    const driver = new DeliveryDriver({ policy });
    driver.arrive(upTo(300), { atHead: false });
    expect(fetches(driver)).toEqual([0, 300]);
  });
});
