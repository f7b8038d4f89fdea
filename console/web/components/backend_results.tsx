// Backends: the result of a change for each, the choice of the backends of a change, and their states.

import type { Receipt, ReceiptEntry } from "../../../scim/ports.ts";
import { t } from "../i18n/translate.ts";
import type { StateLabel } from "../app/login_state_labels.ts";
import { Button } from "./button.tsx";
import { Chip } from "./status.tsx";
import type { Signal } from "@preact/signals";
import type { Models } from "../app/app_context.ts";
import { type ResultMessage, toResultMessage } from "../app/action.ts";
import { Alert } from "./alert.tsx";
import type { BackendState, MembersNotStored } from "../../../scim/schema/resource.ts";
import { Checkbox } from "./field.tsx";
import type { BackendRow } from "../../api/targets/target_types.ts";

type ResultStyle = Pick<StateLabel, "tone" | "shape">;
const RESULT_STYLES: Readonly<Record<ReceiptEntry["outcome"], ResultStyle>> = {
  done: { tone: "ok", shape: "check" },
  queued: { tone: "wait", shape: "clock" },
  failed: { tone: "bad", shape: "cross" },
  undone: { tone: "idle", shape: "ring" },
  undoing: { tone: "wait", shape: "clock" },
  untried: { tone: "idle", shape: "ring" },
  read_only: { tone: "idle", shape: "ring" },
};
/** Saved, but without some members of the group. */
const INCOMPLETE: ResultStyle = { tone: "wait", shape: "diamond" };

interface ReceiptProps {
  readonly entries: readonly ReceiptEntry[];
  /** Tries one backend again. */
  readonly onRetry?: (backend: string) => void;
}

export function BackendResults({ entries, onRetry }: ReceiptProps) {
  return (
    <ul class="receipt" aria-label={t("common.backends_said")}>
      {entries.map((entry) => (
        <li key={entry.backend}>
          <Chip
            words={{
              ...(entry.notStored === undefined ? RESULT_STYLES[entry.outcome] : INCOMPLETE),
              label: `${entry.backend}: ${t(`common.outcome_${entry.outcome}`)}`,
            }}
          />
          {entry.detail !== undefined && <span class="quiet small">{entry.detail}</span>}
          {entry.notStored !== undefined && <span class="small">{notStoredText(entry.notStored)}</span>}
          {entry.outcome === "failed" && onRetry !== undefined && (
            <Button
              small
              of={entry.backend}
              onClick={() => onRetry(entry.backend)}
            >
              {t("common.try_again")}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** "Saved to 2 of 3 backends", or "Deleted from 2 of 3 backends". */
export function backendSummary(
  entries: readonly Pick<ReceiptEntry, "outcome">[],
  verb: "saved" | "removed" = "saved",
): string {
  const asked = entries.filter(({ outcome }) => outcome !== "read_only");
  const done = asked.filter(({ outcome }) => outcome === "done").length;
  if (asked.length === 0) return "";
  return done === asked.length
    ? t(`common.result_all_${verb}`, { count: done })
    : t(`common.result_some_${verb}`, { done, count: asked.length });
}

/** {@link backendSummary} for a toast, which has no chips: with the members that a backend did not store. */
export function backendMessage(
  entries: readonly ReceiptEntry[],
  verb: "saved" | "removed" = "saved",
): string {
  const incomplete = entries.flatMap(({ backend, notStored }) =>
    notStored === undefined ? [] : [`${backend}: ${notStoredText(notStored)}`]
  );
  const spared = entries.flatMap(({ backend, outcome }) =>
    outcome === "read_only" ? [t("common.read_only_spared", { backend })] : []
  );
  return [backendSummary(entries, verb), ...incomplete, ...spared].filter((text) => text !== "").join(" · ");
}

export function ResultAlert({ said, onRetry }: {
  said: Signal<ResultMessage | null>;
  onRetry: (backend: string) => Promise<unknown>;
}) {
  const now = said.value;
  if (now === null) return null;
  const entries = now.receipt?.entries ?? [];
  return (
    <Alert
      tone={now.tone}
      icon={now.tone === "ok" ? "check" : "alert"}
      role={now.tone === "bad" ? "alert" : "status"}
    >
      <strong>{now.text}</strong> {now.tone !== "bad" && entries.length > 0 && backendSummary(entries)}
      {entries.length > 0 && (
        <BackendResults
          entries={entries}
          onRetry={(backend) => void onRetry(backend)}
        />
      )}
      <Button kind="plain" small onClick={() => said.value = null}>{t("common.dismiss")}</Button>
    </Alert>
  );
}

/** Shows the result of a change as a toast. */
export function showReceiptToast(
  { toasts }: Pick<Models, "toasts">,
  text: string,
  receipt: Receipt,
  verb: "saved" | "removed" = "saved",
): void {
  toasts.show(`${text} ${backendMessage(receipt.entries, verb)}`, {
    tone: toResultMessage(text, receipt).tone,
  });
}

/** "2 members not stored: bob, eve". An ellipsis ends an incomplete list. */
export function notStoredText({ count, names }: MembersNotStored): string {
  const listed = count > names.length ? [...names, "…"] : names;
  return `${t("common.not_stored", { count })}: ${listed.join(", ")}`;
}

interface BackendInfo {
  readonly name: string;
  readonly kind: string;
  readonly mode: string;
  readonly isReadOnly?: true;
  /** With an object: its state there. `null`: the connector does not have it. */
  readonly state?: Pick<BackendState, "state"> | null;
}

/** Names of backends; `null`: all. */
type ChosenBackends = Signal<readonly string[] | null>;

interface BackendChoiceProps {
  readonly backends: readonly BackendInfo[];
  readonly chosen: ChosenBackends;
}

/** Selects the backends of a change; by default all. Renders nothing for a single backend. */
export function BackendChoice({ backends, chosen }: BackendChoiceProps) {
  const holders = readOnlyHolders(backends);
  const note = holders.length > 0 && <Alert tone="wait">{readOnlyText(holders)}</Alert>;
  if (backends.length < 2) return note || null;
  const names = writableNames(backends);
  const now = chosen.value ?? names;
  const toggle = (name: string, isWanted: boolean) => {
    const next = names.filter((one) => one === name ? isWanted : now.includes(one));
    chosen.value = next.length === names.length ? null : next;
  };
  return (
    <>
      {note}
      <fieldset class="multi">
        <legend>{t("common.backends_choice")}</legend>
        {backends.map(({ name, kind, mode, isReadOnly }) => (
          <Checkbox
            key={name}
            label={name}
            hint={isReadOnly === true
              ? t("common.backend_read_only", { kind })
              : t(mode === "async" ? "common.backend_later" : "common.backend_at_once", { kind })}
            {...(isReadOnly === true ? { reason: t("common.backend_read_only", { kind }) } : {})}
            checked={now.includes(name)}
            onChange={(isWanted) => toggle(name, isWanted)}
          />
        ))}
      </fieldset>
    </>
  );
}

/** The names of the backends that a change can be written to. */
export function writableNames(backends: readonly BackendInfo[]): readonly string[] {
  return backends.flatMap(({ name, isReadOnly }) => isReadOnly === true ? [] : [name]);
}

function readOnlyHolders(backends: readonly BackendInfo[]): readonly string[] {
  return backends.flatMap((one) => one.isReadOnly === true && isHeldBy(one) ? [one.name] : []);
}

function isHeldBy({ state }: BackendInfo): boolean {
  return state !== undefined && state !== null && state.state !== "vanished";
}

function readOnlyText(holders: readonly string[]): string {
  return t("common.read_only_holder", { backend: holders.join(", ") });
}

/** The first selection: all (`null`); if a read-only connector has the object, the other connectors that have it. */
export function firstChoice(backends: readonly BackendInfo[]): readonly string[] | null {
  if (readOnlyHolders(backends).length === 0) return null;
  return backends.flatMap((one) => one.isReadOnly !== true && isHeldBy(one) ? [one.name] : []);
}

/** Why nothing can be written with an empty selection; `undefined` otherwise. */
export function noBackendReason(
  { value }: ChosenBackends,
  backends: readonly BackendInfo[] = [],
): string | undefined {
  if (value === null && (backends.length === 0 || writableNames(backends).length > 0)) return undefined;
  if (value !== null && value.length > 0) return undefined;
  const readOnly = backends.filter(({ isReadOnly }) => isReadOnly === true).map(({ name }) => name);
  return writableNames(backends).length === 0 && readOnly.length > 0
    ? t("common.read_only_only", { backend: readOnly.join(", ") })
    : t("common.choose_backend");
}

/** The state of a backend, from its last results. */
export function backendLabel({ kind, lastGoodMs, lastFault, dead, owed }: BackendRow): StateLabel {
  if (kind === "store") return { tone: "ok", shape: "check", label: t("common.backend_ok") };
  const isBad = lastFault !== null && lastFault.kind !== "refused" && lastFault.atMs >= (lastGoodMs ?? 0);
  if (isBad) return { tone: "bad", shape: "cross", label: t("common.backend_bad") };
  if (dead > 0) return { tone: "bad", shape: "cross", label: t("common.backend_dead") };
  if (owed > 0) return { tone: "wait", shape: "clock", label: t("common.backend_owed") };
  if (lastGoodMs === null) return { tone: "idle", shape: "ring", label: t("common.backend_unknown") };
  return { tone: "ok", shape: "check", label: t("common.backend_ok") };
}

export function BackendChips({ rows }: { rows: readonly BackendRow[] }) {
  return (
    <span class="marks">
      {rows.map((row) => {
        const words = backendLabel(row);
        return <Chip key={row.name} words={{ ...words, label: `${row.name}: ${words.label}` }} />;
      })}
    </span>
  );
}
