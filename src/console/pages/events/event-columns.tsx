/** Events in rows, the same wherever they are listed. */
import type { EventRecord } from "../../data/shapes.js";
import { count, oneLine, visible } from "../../ui/format.js";
import { Ago, Clock } from "../../ui/now.js";
import type { Column } from "../../ui/table.js";

export const EVENT_COLUMNS: readonly Column<EventRecord>[] = [
  {
    id: "time",
    head: "Time",
    cell: ({ ts }) => <Clock ts={ts} />,
  },
  {
    id: "age",
    head: "Age",
    wide: true,
    cell: ({ ts }) => (
      <span class="text-faint">
        <Ago ts={ts} />
      </span>
    ),
  },
  {
    id: "place",
    head: "Place",
    align: "right",
    wide: "tablet",
    cell: ({ partition, seq }) => (
      <span class="mono text-faint" title={`partition ${partition}, seq ${count(seq)}`}>
        {partition}:{seq}
      </span>
    ),
  },
  {
    id: "key",
    head: "Key",
    cell: ({ key }) => (
      <span class="mono inline-block max-w-44 truncate align-bottom max-sm:max-w-32" title={key}>
        {key === undefined ? <span class="text-faint">–</span> : visible(key)}
      </span>
    ),
  },
  {
    id: "payload",
    head: "Payload",
    grow: true,
    cell: ({ payload }) => <span class="mono text-soft">{oneLine(payload)}</span>,
  },
];
