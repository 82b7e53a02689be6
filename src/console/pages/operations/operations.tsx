/** For those who run it: what works in the background, who the hubs are, who may do what, and who did what. */
import { PageHead, type Tab, TabPanel, Tabs, useTab } from "../../ui/page.js";
import { Access } from "./access.js";
import { Audit } from "./audit.js";
import { HubList } from "./hub-list.js";
import { JobList } from "./job-list.js";
import { OutboxView } from "./outbox-view.js";
import { TaskList } from "./task-list.js";

const TABS: readonly Tab[] = [
  { id: "tasks", label: "Background parts" },
  { id: "jobs", label: "Jobs" },
  { id: "outbox", label: "Outbox" },
  { id: "hubs", label: "Hubs and members" },
  { id: "access", label: "Access" },
  { id: "audit", label: "Audit log" },
];

export function OperationsPage() {
  const tab = useTab(TABS);
  return (
    <>
      <PageHead title="Operations" />
      <Tabs tabs={TABS} />
      <TabPanel tab={tab}>
        {tab === "tasks" && <TaskList />}
        {tab === "jobs" && <JobList />}
        {tab === "outbox" && <OutboxView />}
        {tab === "hubs" && <HubList />}
        {tab === "access" && <Access />}
        {tab === "audit" && <Audit />}
      </TabPanel>
    </>
  );
}
