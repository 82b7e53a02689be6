/** What a driver author brings to the conformance suite, and nothing else. */
import type { Store } from "../../ports/store.js";

/** A fresh, empty store, opened, and ways to look at the same data again. */
export interface StoreUnderTest {
  readonly store: Store;
  /**
   * A second, independent, opened handle on the same data, as another process would have it. For a store that is
   * not `sharedByProcesses`: absent.
   */
  readonly another?: () => Promise<Store>;
  /** Closes `store` and opens the same data anew. For a store that is not `durable`: absent. */
  readonly reopen?: () => Promise<Store>;
  /** Closes everything that was opened and removes the data. */
  dispose(): Promise<void>;
}

/** How the suite comes by stores of the driver that is tested. */
export interface StoreFixture {
  /** Shows in the test titles: "memory", "embedded", "mongo". */
  readonly name: string;
  create(): Promise<StoreUnderTest>;
}
