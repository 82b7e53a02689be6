/** Every event of a group accounted for, or the holes. */
import { CircleCheck, OctagonAlert } from "lucide-preact";
import { seg } from "../../data/api.js";
import { useFresh } from "../../data/live.js";
import type { Verified } from "../../data/shapes.js";
import { Button } from "../../ui/button.js";
import { CopyCommand } from "../../ui/copy.js";
import { Dialog } from "../../ui/dialog.js";
import { count, shellWord } from "../../ui/format.js";
import { isPhone } from "../../ui/screen.js";
import { Loaded } from "../../ui/states.js";

const COLUMNS = [
  ["settled", "Settled"],
  ["deadLettered", "Dead letters"],
  ["removed", "Removed"],
  ["inFlight", "In flight"],
  ["pending", "Pending"],
] as const;

export function VerifyDialog(props: {
  readonly group: string;
  readonly topic: string;
  readonly onClose: () => void;
}) {
  const { group, topic, onClose } = props;
  const live = useFresh<Verified>(`/groups/${seg(group)}/verify?topic=${seg(topic)}`);
  return (
    <Dialog
      wide
      title={`Verify ${group} on ${topic}`}
      onClose={onClose}
      footer={
        <>
          <div class="mr-auto">
            <CopyCommand command={`promethean verify ${shellWord(group)} --topic ${shellWord(topic)}`} />
          </div>
          <Button onClick={live.refresh}>Verify again</Button>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <Loaded live={live}>{(verified) => <Result verified={verified} />}</Loaded>
    </Dialog>
  );
}

function Result({ verified: { ok, partitions } }: { readonly verified: Verified }) {
  const holes = partitions.flatMap((one) => one.holes.map((hole) => ({ ...hole, partition: one.partition })));
  return (
    <>
      <p
        class={`mb-3 flex items-center gap-2 font-medium ${ok ? "text-good" : "text-bad"}`}
        data-verified={ok}
      >
        {ok ? <CircleCheck size={17} aria-hidden="true" /> : <OctagonAlert size={17} aria-hidden="true" />}
        {ok
          ? "Every event is accounted for."
          : `${holes.length === 1 ? "1 stretch is" : `${count(holes.length)} stretches are`} not accounted for.`}
      </p>
      {isPhone.value ? <List partitions={partitions} /> : <Figures partitions={partitions} />}
      {holes.length > 0 && (
        <ul class="mt-3 text-bad">
          {holes.map(({ partition, from, to, why }) => (
            <li key={`${partition} ${from}`}>
              partition {partition}, {count(from)} to {count(to)}: {why}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Figures({ partitions }: Pick<Verified, "partitions">) {
  return (
    <table class="w-full text-right">
      <thead class="text-xs text-soft">
        <tr class="border-b border-line">
          <th scope="col" class="h-8 text-left font-medium">
            Partition
          </th>
          {COLUMNS.map(([name, head]) => (
            <th key={name} scope="col" class="pl-2 font-medium">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {partitions.map((one) => (
          <tr key={one.partition} class="border-b border-line">
            <td class="h-8 text-left">{one.partition}</td>
            {COLUMNS.map(([name]) => (
              <td key={name} class={`pl-2 ${one[name] === 0 ? "text-faint" : ""}`}>
                {count(one[name])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Where there is no room for columns: of each partition what there is any of. */
function List({ partitions }: Pick<Verified, "partitions">) {
  return (
    <ul class="divide-y divide-line border-y border-line">
      {partitions.map((one) => (
        <li key={one.partition} class="py-2">
          <span class="font-medium">Partition {one.partition}</span>
          <span class="block text-soft">
            {COLUMNS.filter(([name]) => one[name] > 0)
              .map(([name, head]) => `${head.toLowerCase()} ${count(one[name])}`)
              .join(", ") || "no events"}
          </span>
        </li>
      ))}
    </ul>
  );
}
