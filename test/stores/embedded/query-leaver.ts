/** Asks a store for what takes a while, then closes it, or exits, in the middle of it. Prints what became of the questions. */
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const DOCUMENTS = 20_000;
const AT_ONCE = 1_000;

const [path = "", how, afterMs = "0"] = process.argv.slice(2);
const store = embeddedStore({ path });
await store.open();
for (let from = 0; from < DOCUMENTS; from += AT_ONCE) {
  const writes = Array.from({ length: AT_ONCE }, (_, i) => ({
    op: "upsert" as const,
    key: `k${from + i}`,
    ts: 1,
    fields: { n: (from + i) % 997, text: "x".repeat(100) },
  }));
  await store.documents.write("v", writes);
}
for (let round = 0; round < 5; round++) {
  await store.documents.find("v", { limit: 1 });
  // More than could be answered by then, however late it is.
  const asked = Array.from({ length: 50 }, () =>
    store.documents.find("v", { order: { field: "n" }, limit: 1_000 }).then(
      () => "answered",
      ({ code }: { code: string }) => code,
    ),
  );
  // The first one is under way by then, most likely; the others wait.
  await new Promise((resolve) => setTimeout(resolve, Number(afterMs) + 5 * round));
  if (how === "exit") process.exit(0);
  await store.close();
  console.log(JSON.stringify(await Promise.all(asked)));
  await store.open();
}
await store.close();
