/** Begins to copy a store, and exits when the copy has begun. */
import { statSync } from "node:fs";
import { partOf } from "../../../src/stores/embedded/backup/partial-copy.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const DOCUMENTS = 512;
const MORE_THAN_A_STRETCH = 131_072;

const [path = "", target = ""] = process.argv.slice(2);
const store = embeddedStore({ path });
await store.open();
for (let n = 0; n < DOCUMENTS; n++) {
  const fields = { text: `${n} `.padEnd(MORE_THAN_A_STRETCH, "x") };
  await store.documents.write("v", [{ op: "upsert", key: `k${n}`, ts: 1, fields }]);
}
void store.backup(target).then(() => console.log("copied"));
const leaveOnceBegun = (): void => {
  const begun = (statSync(partOf(target), { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (begun) process.exit(0);
  setImmediate(leaveOnceBegun);
};
leaveOnceBegun();
