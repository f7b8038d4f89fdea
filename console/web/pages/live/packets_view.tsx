// The packets of a login: octets and attributes side by side, highlighted together.

import { type Signal, useSignal } from "@preact/signals";
import type { ConversationView, PacketRecord } from "../../../../radius/ports.ts";
import { offsetText } from "../../app/format.ts";
import { messageOrName } from "../../app/login_state_labels.ts";
import { CopyButton } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";

type PacketRow = PacketRecord["rows"][number];

interface PacketsProps {
  /** The RADIUS port of the gateway. */
  readonly port: number;
  readonly view: Pick<ConversationView, "startedMs" | "source">;
  readonly packets: readonly PacketRecord[] | null;
  /** The time of the replay. */
  readonly atMs: number;
}

export function PacketsView({ packets, ...context }: PacketsProps) {
  const rounds = packets === null ? 0 : roundPackets(packets);
  return (
    <section aria-label={t("live.packets")}>
      {packets === null ? <p class="quiet small">{t("live.packets_none")}</p> : (
        <>
          {rounds > 0 && (
            <details class="packet">
              <summary>{t("live.rounds", { count: rounds })}</summary>
              <PacketList packets={packets.slice(0, rounds)} {...context} />
            </details>
          )}
          <PacketList packets={packets.slice(rounds)} {...context} />
        </>
      )}
    </section>
  );
}

/** Fewer packets are shown without a fold. */
const MIN_FOLDED = 4;

/** How many packets are rounds between the user's device and the first-factor server: those up to the last relayed challenge; 0: no fold. */
export function roundPackets(packets: readonly Pick<PacketRecord, "verdict">[]): number {
  const count = packets.findLastIndex(({ verdict }) => verdict === "relayed_round") + 1;
  return count < MIN_FOLDED ? 0 : count;
}

function PacketList({ view, packets, atMs, port }: PacketsProps & { packets: readonly PacketRecord[] }) {
  return (
    <ol class="packets">
      {packets.map((packet, at) => (
        <li key={at} class={packet.atMs > atMs ? "to-come" : ""}>
          <PacketDetails packet={packet} since={offsetText(packet.atMs - view.startedMs)} port={port} />
        </li>
      ))}
    </ol>
  );
}

/** @param props.since the time of the packet as text. */
export function PacketDetails(
  { packet, since, port }: { packet: PacketRecord; since: string; port: number },
) {
  const highlighted = useSignal<number | null>(null);
  const open = useSignal(false);
  const { inbound, copies, verdict, rows } = packet;
  const name = rows.find((row) => row.name === "Code")?.value.replace(/^\d+ \((.*)\)$/, "$1") ?? "?";
  return (
    <details
      class="packet"
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}
    >
      <summary>
        <span class={`way ${inbound ? "in" : "out"}`}>
          {t(inbound ? "live.packet_in" : "live.packet_out")}
        </span>
        <strong>{name}</strong>
        <span class="mono quiet">{since}</span>
        {copies > 1 && <span class="chip tone-wait">{t("live.copies", { count: copies })}</span>}
        <span class="quiet verdict-word">{verdictText(verdict)}</span>
      </summary>
      {open.value && (
        <div class="packet-body">
          <Octets packet={packet} highlighted={highlighted} />
          <AttributeTable rows={rows} highlighted={highlighted} />
          {inbound && <CopyButton what={t("live.copy_radclient")} text={radclientText(packet, port)} />}
        </div>
      )}
    </details>
  );
}

/** The verdicts about a request (`PacketRecord.verdict`). */
const SIGNATURES = ["signed", "unsigned", "unchecked", "tls"] as const;

function verdictText(verdict: string): string {
  const signature = SIGNATURES.find((name) => name === verdict);
  if (signature !== undefined) return t(`live.${signature}`);
  return messageOrName(`explain.row_${verdict}`, verdict);
}

interface HighlightProps {
  /** The offset of the highlighted row. */
  readonly highlighted: Signal<number | null>;
}

const OCTETS_PER_LINE = 8;

function Octets({ packet: { hex, rows }, highlighted }: { packet: PacketRecord } & HighlightProps) {
  const owners = ownersOf(rows, hex.length / 2);
  const masked = new Set(rows.filter((row) => row.masked).map((row) => row.at));
  return (
    <div class="octets mono" role="group" aria-label={t("live.octets")}>
      {owners.map((owner, at) => {
        const isValue = owner !== null && masked.has(owner) && hex.slice(2 * at, 2 * at + 2) === "00";
        const marks = [
          owner !== null && owner === highlighted.value ? "lit" : "",
          isValue ? "masked" : "",
          at % OCTETS_PER_LINE === 0 ? "first" : "",
        ];
        return (
          <span
            key={at}
            class={marks.join(" ")}
            onPointerEnter={() => highlighted.value = owner}
            onPointerLeave={() => highlighted.value = null}
          >
            {isValue ? "••" : hex.slice(2 * at, 2 * at + 2)}
          </span>
        );
      })}
    </div>
  );
}

/** For each octet, the offset of its row. */
function ownersOf(rows: readonly PacketRow[], octets: number): (number | null)[] {
  const owners = new Array<number | null>(octets).fill(null);
  for (const { at, lengthOctets } of rows) owners.fill(at, at, at + lengthOctets);
  return owners;
}

function AttributeTable({ rows, highlighted }: { rows: readonly PacketRow[] } & HighlightProps) {
  return (
    <div class="packet-rows" tabIndex={0} role="group" aria-label={t("common.attributes")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("common.attribute")}</th>
            <th scope="col">{t("common.value")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={row.at}
              class={row.at === highlighted.value ? "lit" : ""}
              onPointerEnter={() => highlighted.value = row.at}
              onPointerLeave={() => highlighted.value = null}
            >
              <td>
                {row.name}
                {row.type !== null && <span class="quiet">{` ${row.type}`}</span>}
              </td>
              <td class="mono">
                {row.value}
                {row.masked && <span class="quiet">{` ${t("live.masked")}`}</span>}
                {row.from && <span class="quiet">{` ${t(`live.from_${row.from}`)}`}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Attributes that radclient sets itself, or that are valid only in the original packet. */
const OMITTED = new Set([
  "Message-Authenticator",
  "Proxy-State",
  "Code",
  "Identifier",
  "Length",
  "Authenticator",
]);

/** Input for radclient: one attribute a line, after a comment with the command. */
export function radclientText({ rows }: Pick<PacketRecord, "rows">, port: number): string {
  const command = `radclient -x <address>:${port} auth "<shared secret>"`;
  const lines = rows.flatMap((row) => {
    if (row.type === null || OMITTED.has(row.name) || row.name.includes(" ")) return [];
    if (row.masked) return row.name === "User-Password" ? ['User-Password = "<password>"'] : [];
    const value = row.kind === "text" ? quoted(row.value) : row.value.split(" ")[0] ?? "";
    return [`${row.name} = ${value}`];
  });
  return [`# ${command}`, ...lines, "Message-Authenticator = 0x00", ""].join("\n");
}

/** Escapes a value of a client, so that it cannot end the text or the line. */
function quoted(value: string): string {
  let safe = "";
  for (const one of value) {
    const code = one.charCodeAt(0);
    if (code < 0x20 || code === 0x7f) safe += `\\${code.toString(8).padStart(3, "0")}`;
    else safe += one === '"' || one === "\\" ? `\\${one}` : one;
  }
  return `"${safe}"`;
}
