// What each backend said to a change: never one tick for all, and a way to try those again that failed.

import type { ReceiptEntry } from "../../../scim/ports.ts";
import { notStoredText } from "../not_stored_text.ts";
import { t } from "../i18n/translate.ts";
import type { StateWords } from "../words.ts";
import { Button } from "./button.tsx";
import { Chip } from "./status.tsx";

type Look = Pick<StateWords, "tone" | "shape">;
const LOOKS: Readonly<Record<ReceiptEntry["outcome"], Look>> = {
  done: { tone: "ok", shape: "check" },
  queued: { tone: "wait", shape: "clock" },
  failed: { tone: "bad", shape: "cross" },
  undone: { tone: "idle", shape: "ring" },
  undoing: { tone: "wait", shape: "clock" },
  untried: { tone: "idle", shape: "ring" },
};
/** Saved, but without some members of the group. */
const INCOMPLETE: Look = { tone: "wait", shape: "diamond" };

interface ReceiptProps {
  readonly entries: readonly ReceiptEntry[];
  /** Tries one backend again. */
  readonly onRetry?: (backend: string) => void;
}

export function ReceiptChips({ entries, onRetry }: ReceiptProps) {
  return (
    <ul class="receipt" aria-label={t("frame.backends_said")}>
      {entries.map((entry) => (
        <li key={entry.backend}>
          <Chip
            words={{
              ...(entry.notStored === undefined ? LOOKS[entry.outcome] : INCOMPLETE),
              label: `${entry.backend}: ${t(`frame.outcome_${entry.outcome}`)}`,
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
              {t("frame.try_again")}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** "Saved to 2 of 3 backends", or that it is saved everywhere; of a deletion: "Deleted from 2 of 3 backends". */
export function receiptSentence(
  entries: readonly Pick<ReceiptEntry, "outcome">[],
  verb: "saved" | "removed" = "saved",
): string {
  const done = entries.filter(({ outcome }) => outcome === "done").length;
  return done === entries.length
    ? t(`frame.${verb}_all`, { count: done })
    : t(`frame.${verb}_some`, { done, count: entries.length });
}

/** {@link receiptSentence} for a message over the page, which shows no chips: with the members that a backend did not store. */
export function receiptMessage(
  entries: readonly ReceiptEntry[],
  verb: "saved" | "removed" = "saved",
): string {
  const incomplete = entries.flatMap(({ backend, notStored }) =>
    notStored === undefined ? [] : [`${backend}: ${notStoredText(notStored)}`]
  );
  return [receiptSentence(entries, verb), ...incomplete].join(" · ");
}
