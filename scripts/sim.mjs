/** `npm run sim -- --seeds 1000`: set-up, then the simulator's command line in this very process. */
import { setup } from "./setup.mjs";

if (!setup()) process.exit(1);
await import("../dist/testing/simulator/cli.js");
