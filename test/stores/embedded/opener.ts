/** Opens a store, as an ordinary user or for itself if told so, and prints the error it meets. */
import { BusError } from "../../../src/model/errors.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const [path = "", how] = process.argv.slice(2);
// By default the signal that comes with a file that may not grow would end the process.
process.on("SIGXFSZ", () => {});
const store = embeddedStore({ path, exclusive: how === "exclusive" });
// Administrators may write anywhere.
if (how === "ordinary" && process.getuid?.() === 0) process.setuid?.(65_534);
try {
  await store.open();
  console.log(JSON.stringify({ opened: true }));
  await store.close();
} catch (error) {
  const { code, message, retryable } = BusError.from(error);
  console.log(JSON.stringify({ code, message, retryable }));
}
