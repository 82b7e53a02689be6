/** Who reads the topic. */

import { seg } from "../../data/api.js";
import { useLive } from "../../data/live.js";
import type { GroupLag, Items } from "../../data/shapes.js";
import { useStats } from "../../data/stats.js";
import { shellWord } from "../../ui/format.js";
import { Section } from "../../ui/page.js";
import { go, to } from "../../ui/router.js";
import { Empty, Loaded } from "../../ui/states.js";
import { Table } from "../../ui/table.js";
import { GROUP_COLUMNS, groupRows } from "../groups/group-columns.js";

export function TopicGroups({ topic }: { readonly topic: string }) {
  const live = useLive<Items<GroupLag>>(`/groups?topic=${seg(topic)}`, 2_000);
  const stats = useStats();
  return (
    <Section>
      <Loaded live={live}>
        {({ items }) => (
          <Table
            name="groups"
            columns={GROUP_COLUMNS.filter(({ id }) => id !== "topic")}
            rows={groupRows(items, stats)}
            rowKey={({ group }) => group}
            onOpen={({ group }) => go(to("groups", group, { topic }))}
            sorted="-lag"
            empty={
              <Empty
                title="Nobody reads it"
                command={`promethean subscribe ${shellWord(topic)} --group mailer`}
              >
                A group appears when somebody subscribes under its name.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  );
}
