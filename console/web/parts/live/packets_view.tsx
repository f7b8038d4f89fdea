// The packets of a login: each with its octets beside its attributes, the two lighting up together.

import { type Signal, useSignal } from "@preact/signals";
import type { ConversationView, PacketRecord } from "../../../../radius/ports.ts";
import { offsetText } from "../../format.ts";
import { radclientText } from "../../radclient_text.ts";
import { wordOr } from "../../words.ts";
import { t } from "../../i18n/translate.ts";
import { CopyButton } from "../copy_button.tsx";

type PacketRow = PacketRecord["rows"][number];

interface PacketsProps {
  /** Where the gateway listens for RADIUS. */
  readonly port: number;
  readonly view: Pick<ConversationView, "startedMs" | "source">;
  readonly packets: readonly PacketRecord[] | null;
  /** The moment of the replay. */
  readonly atMs: number;
}

export function PacketsView({ view, packets, atMs, port }: PacketsProps) {
  return (
    <section aria-label={t("live.packets")}>
      <h2>{t("live.packets")}</h2>
      {packets === null ? <p class="quiet small">{t("live.packets_none")}</p> : (
        <ol class="packets">
          {packets.map((packet, at) => (
            <li key={at} class={packet.atMs > atMs ? "to-come" : ""}>
              <Packet packet={packet} since={offsetText(packet.atMs - view.startedMs)} port={port} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/** @param props.since when it came, in words. */
export function Packet(
  { packet, since, port }: { packet: PacketRecord; since: string; port: number },
) {
  const lit = useSignal<number | null>(null);
  const open = useSignal(false);
  const { inbound, copies, verdict, rows } = packet;
  const name = rows.find((row) => row.name === "Code")?.value.replace(/^\d+ /, "") ?? "?";
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
          <Octets packet={packet} lit={lit} />
          <Rows rows={rows} lit={lit} />
          {inbound && <CopyButton what={t("live.copy_radclient")} text={radclientText(packet, port)} />}
        </div>
      )}
    </details>
  );
}

function verdictText(verdict: string): string {
  if (verdict === "signed" || verdict === "unsigned" || verdict === "unchecked") return t(`live.${verdict}`);
  return wordOr(`explain.row_${verdict}`, verdict);
}

interface LitProps {
  /** The row that is pointed at, by where it begins. */
  readonly lit: Signal<number | null>;
}

const IN_A_LINE = 8;

function Octets({ packet: { hex, rows }, lit }: { packet: PacketRecord } & LitProps) {
  const owners = ownersOf(rows, hex.length / 2);
  const masked = new Set(rows.filter((row) => row.masked).map((row) => row.at));
  return (
    <div class="octets mono" role="group" aria-label={t("live.octets")}>
      {owners.map((owner, at) => {
        const isValue = owner !== null && masked.has(owner) && hex.slice(2 * at, 2 * at + 2) === "00";
        const marks = [
          owner !== null && owner === lit.value ? "lit" : "",
          isValue ? "masked" : "",
          at % IN_A_LINE === 0 ? "first" : "",
        ];
        return (
          <span
            key={at}
            class={marks.join(" ")}
            onPointerEnter={() => lit.value = owner}
            onPointerLeave={() => lit.value = null}
          >
            {isValue ? "••" : hex.slice(2 * at, 2 * at + 2)}
          </span>
        );
      })}
    </div>
  );
}

/** Of each octet, where the row begins that it belongs to. */
function ownersOf(rows: readonly PacketRow[], octets: number): (number | null)[] {
  const owners = new Array<number | null>(octets).fill(null);
  for (const { at, lengthOctets } of rows) owners.fill(at, at, at + lengthOctets);
  return owners;
}

function Rows({ rows, lit }: { rows: readonly PacketRow[] } & LitProps) {
  return (
    <div class="packet-rows" tabIndex={0} role="group" aria-label={t("live.attributes")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("live.attribute")}</th>
            <th scope="col">{t("live.value")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={row.at}
              class={row.at === lit.value ? "lit" : ""}
              onPointerEnter={() => lit.value = row.at}
              onPointerLeave={() => lit.value = null}
            >
              <td>
                {row.name}
                {row.type !== null && <span class="quiet">{` ${row.type}`}</span>}
              </td>
              <td class="mono">
                {row.value}
                {row.masked && <span class="quiet">{` ${t("live.masked")}`}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
