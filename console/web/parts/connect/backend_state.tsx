// How a backend stands, as a chip: present tense, from what it did last.

import type { BackendRow } from "../../../api/targets/target_types.ts";
import { t } from "../../i18n/translate.ts";
import type { StateWords } from "../../words.ts";
import { Chip } from "../status.tsx";

export function backendWords({ kind, lastGoodMs, lastFault, dead, owed }: BackendRow): StateWords {
  if (kind === "store") return { tone: "ok", shape: "check", label: t("connect.backend_ok") };
  const isBad = lastFault !== null && lastFault.kind !== "refused" && lastFault.atMs >= (lastGoodMs ?? 0);
  if (isBad) return { tone: "bad", shape: "cross", label: t("connect.backend_bad") };
  if (dead > 0) return { tone: "bad", shape: "cross", label: t("connect.backend_dead") };
  if (owed > 0) return { tone: "wait", shape: "clock", label: t("connect.backend_owed") };
  if (lastGoodMs === null) return { tone: "idle", shape: "ring", label: t("connect.backend_unknown") };
  return { tone: "ok", shape: "check", label: t("connect.backend_ok") };
}

export function BackendChips({ rows }: { rows: readonly BackendRow[] }) {
  return (
    <span class="marks">
      {rows.map((row) => {
        const words = backendWords(row);
        return <Chip key={row.name} words={{ ...words, label: `${row.name}: ${words.label}` }} />;
      })}
    </span>
  );
}
