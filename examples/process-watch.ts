/** The worked example: heartbeats of this machine's processes become their state, a view, and totals of the host. */
import {
  createBus,
  memoryStore,
  startHeartbeatSource,
  startHostSummary,
  startProcessChangelog,
  startProcessProjector,
} from "promethean";

const bus = await createBus({ store: memoryStore() });
await startProcessProjector(bus);
await startProcessChangelog(bus);
await startHostSummary(bus);
startHeartbeatSource(bus, { everyMs: 200 });

const processes = bus.view<{ pid: number; status: string }>("processes");
const self = async () => (await processes.find({ where: { pid: process.pid } })).items[0];
while ((await self()) === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
console.log(`this process is ${(await self())?.status}`);

const hosts = bus.view<{ alive: number }>("hosts");
while ((await hosts.find({})).items.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
const [host] = (await hosts.find({})).items;
console.log(`its host has others that are alive: ${(host?.alive ?? 0) > 0}`);
await bus.close();
