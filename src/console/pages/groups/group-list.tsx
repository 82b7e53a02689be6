/** All groups on all topics. */
import { useMemo } from "preact/hooks";
import { useLive } from "../../data/live.js";
import type { GroupLag, Items } from "../../data/shapes.js";
import { useStats } from "../../data/stats.js";
import { isFarBehind } from "../../data/stats-past.js";
import { CopyCommand } from "../../ui/copy.js";
import { FilterBox, passes, SelectField } from "../../ui/fields.js";
import { count, sentenceCase } from "../../ui/format.js";
import { PageHead, Section } from "../../ui/page.js";
import { go, query, setQuery, to } from "../../ui/router.js";
import { Loaded } from "../../ui/states.js";
import { Table } from "../../ui/table.js";
import { NoneYet } from "../none-yet.js";
import { GROUP_COLUMNS, groupRows, STATES, stateOf } from "./group-columns.js";

/** Beyond this the whole list is asked for less often. */
const MANY = 1_000;

export function GroupList() {
  const stats = useStats();
  const live = useLive<Items<GroupLag>>("/groups", (stats?.groups.length ?? 0) > MANY ? 15_000 : 3_000);
  const filter = query("q") ?? "";
  const state = query("state") ?? "";
  const items = live.data?.items;
  const rows = useMemo(
    () =>
      groupRows(items ?? [], stats).filter(
        (row) => (state === "" || stateOf(row) === state) && passes(filter, row.group, row.topic),
      ),
    [items, stats, filter, state],
  );
  return (
    <>
      <PageHead title="Groups" actions={<CopyCommand command="promethean lag" />} />
      <Section>
        <Loaded live={live} rows={12}>
          {({ items: all }) => {
            return (
              <>
                <div class="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
                  <FilterBox placeholder="Filter groups and topics" />
                  <SelectField
                    bare
                    label="State"
                    value={state}
                    choices={[
                      { value: "", label: "Any state" },
                      ...STATES.map((value) => ({ value, label: sentenceCase(value) })),
                    ]}
                    onChange={(value) => setQuery({ state: value })}
                  />
                  <span class="ml-auto text-xs text-faint">
                    {count(rows.length)} of {count(all.length)}
                  </span>
                </div>
                <Table
                  name="groups"
                  columns={GROUP_COLUMNS}
                  rows={rows}
                  rowKey={({ group, topic }) => `${group} ${topic}`}
                  onOpen={({ group, topic }) => go(to("groups", group, { topic }))}
                  sorted="-behind"
                  rowTone={(row) =>
                    row.lag > 0 && row.paused === undefined && isFarBehind(row) ? "warn" : undefined
                  }
                  empty={
                    <NoneYet
                      things="groups"
                      filtered={all.length > 0 && "No group fits the filter"}
                      title="No groups yet"
                      command="promethean subscribe orders.placed --group mailer"
                    >
                      A group appears when somebody subscribes under its name.
                    </NoneYet>
                  }
                />
              </>
            );
          }}
        </Loaded>
      </Section>
    </>
  );
}
