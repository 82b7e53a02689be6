/** Opens a store, as an ordinary user if told so, and prints the error it meets. */
import { BusError } from "../../../src/model/errors.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const [path = "", user] = process.argv.slice(2);
const store = embeddedStore({ path });
// Administrators may write anywhere.
if (user === "ordinary" && process.getuid?.() === 0) process.setuid?.(65_534);
try {
  await store.open();
  console.log(JSON.stringify({ opened: true }));
  await store.close();
} catch (error) {
  const { code, message, retryable } = BusError.from(error);
  console.log(JSON.stringify({ code, message, retryable }));
}
