/** The hubs on this store, and the processes that are members of its groups. */
import { useLive } from "../../data/live.js";
import type { Hubs } from "../../data/shapes.js";
import { Badge } from "../../ui/badge.js";
import { count } from "../../ui/format.js";
import { Ago } from "../../ui/now.js";
import { Section } from "../../ui/page.js";
import { Empty, Loaded } from "../../ui/states.js";
import { Table } from "../../ui/table.js";

export function HubList() {
  const live = useLive<Hubs>("/hubs", 5_000);
  return (
    <Loaded live={live}>
      {({ self, items, members }) => (
        <div class="flex flex-col gap-4">
          <Section title="Hubs" note={`${count(items.length)} on this store`}>
            <Table
              name="hubs"
              rows={items}
              rowKey={({ id }) => id}
              columns={[
                {
                  id: "name",
                  head: "Name",
                  grow: "phone",
                  cell: ({ id, name }) => (
                    <span class="font-medium">
                      {name} {id === self && <Badge tone="ember">this one</Badge>}
                    </span>
                  ),
                },
                {
                  id: "url",
                  head: "Address",
                  grow: true,
                  wide: "tablet",
                  cell: ({ url }) => <span class="mono">{url}</span>,
                },
                { id: "host", head: "Host", wide: true, cell: ({ host, pid }) => `${host}, pid ${pid}` },
                {
                  id: "conn",
                  head: "Connections",
                  align: "right",
                  cell: ({ connections }) => count(connections),
                },
                {
                  id: "up",
                  head: "Started",
                  align: "right",
                  wide: true,
                  cell: ({ startedMs }) => <Ago ts={startedMs} />,
                },
                {
                  id: "seen",
                  head: "Seen",
                  align: "right",
                  wide: true,
                  cell: ({ seenMs }) => <Ago ts={seenMs} />,
                },
              ]}
            />
          </Section>
          <Section title="Members" note="processes that have subscribers">
            <Table
              name="members"
              rows={members}
              rowKey={({ member }) => member}
              empty={
                <Empty title="Nobody is subscribed">A process appears here with its first subscriber.</Empty>
              }
              columns={[
                {
                  id: "member",
                  head: "Member",
                  grow: true,
                  cell: ({ member }) => <span class="mono">{member}</span>,
                },
                { id: "host", head: "Host", cell: ({ host }) => host },
                { id: "pid", head: "Process", align: "right", cell: ({ pid }) => pid },
              ]}
            />
          </Section>
        </div>
      )}
    </Loaded>
  );
}
