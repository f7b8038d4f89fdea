// What a login of a group's member is answered with, to be changed: each attribute with its value, and old and new before it is saved.

import { useSignal } from "@preact/signals";
import type { GroupView, ReplyAttribute } from "../../../api/people/group_shapes.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
import type { GroupCalls } from "../../models/group_calls.ts";
import { t } from "../../words/translate.ts";
import { type DiffRow, DiffTable } from "../diff_table.tsx";
import { Dialog } from "../dialog.tsx";
import { Note } from "../note.tsx";
import { Symbol } from "../symbol.tsx";

interface RepliesProps {
  readonly group: GroupView;
  readonly calls: GroupCalls;
  readonly onDone: (now: GroupView) => void;
  readonly onClose: () => void;
}

const EMPTY: ReplyAttribute = { name: "", value: "" };

export function RepliesDialog({ group, calls, onDone, onClose }: RepliesProps) {
  /** As they were when the form was opened; theirs once somebody else was faster. */
  const began = useSignal(group);
  const rows = useSignal<readonly ReplyAttribute[]>(group.replies.length === 0 ? [EMPTY] : group.replies);
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const isRaced = useSignal(false);
  const wanted = rows.value.filter(({ name, value }) => name.trim() !== "" || value !== "");
  const changes = diffOf(began.value.replies, wanted);
  const put = (at: number, change: Partial<ReplyAttribute>) =>
    rows.value = rows.value.map((row, index) => index === at ? { ...row, ...change } : row);
  const save = async () => {
    busy.value = true;
    problem.value = null;
    try {
      const now = await calls.replies({ attributes: wanted, version: began.value.repliesVersion });
      onDone(now);
      onClose();
    } catch (fault) {
      if (fault instanceof ApiFailure && fault.code === "changed_meanwhile") {
        await calls.read().then((now) => {
          began.value = now;
          isRaced.value = true;
        }, (other: unknown) => problem.value = failureText(other));
      } else problem.value = failureText(fault);
    }
    busy.value = false;
  };
  return (
    <Dialog
      title={t("groups.replies_title", { name: group.name })}
      wide
      onClose={onClose}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.cancel")}</button>
          <button
            type="submit"
            form="group-replies"
            class="button button-primary"
            disabled={busy.value || changes.length === 0}
            title={changes.length === 0 ? t("groups.replies_same") : undefined}
          >
            {busy.value ? t("frame.working") : t("frame.save")}
          </button>
        </>
      }
    >
      <form
        id="group-replies"
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <p class="quiet">{t("groups.replies_hint")}</p>
        {isRaced.value && <Note tone="wait" role="alert">{t("groups.replies_raced")}</Note>}
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        {rows.value.map((row, at) => (
          <div
            class="reply-row"
            role="group"
            aria-label={t("groups.reply_number", { number: at + 1 })}
            key={at}
          >
            <input
              class="input mono"
              aria-label={t("groups.reply_name")}
              placeholder="Filter-Id"
              list="reply-names"
              value={row.name}
              required
              maxLength={64}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => put(at, { name: event.currentTarget.value })}
            />
            <input
              class="input mono"
              aria-label={t("groups.reply_value")}
              value={row.value}
              required
              maxLength={253}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => put(at, { value: event.currentTarget.value })}
            />
            <button
              type="button"
              class="button button-plain"
              aria-label={t("groups.reply_remove", { name: row.name || String(at + 1) })}
              onClick={() => rows.value = rows.value.filter((_row, index) => index !== at)}
            >
              <Symbol name="x" />
            </button>
          </div>
        ))}
        <datalist id="reply-names">
          {COMMON.map((name) => <option key={name} value={name} />)}
        </datalist>
        <div>
          <button
            type="button"
            class="button button-small"
            onClick={() => rows.value = [...rows.value, EMPTY]}
          >
            <Symbol name="plus" /> {t("groups.reply_add")}
          </button>
        </div>
        {changes.length > 0 && (
          <DiffTable label={t("groups.replies_changes", { name: group.name })} rows={changes} />
        )}
      </form>
    </Dialog>
  );
}

/** Offered while a name is typed; every attribute of the dictionary is taken. */
const COMMON = [
  "Class",
  "Filter-Id",
  "Session-Timeout",
  "Idle-Timeout",
  "Framed-IP-Address",
  "Framed-Pool",
  "Service-Type",
  "Reply-Message",
  "Tunnel-Type:1",
  "Tunnel-Medium-Type:1",
  "Tunnel-Private-Group-ID:1",
  "Cisco-AVPair",
];

function diffOf(now: readonly ReplyAttribute[], wanted: readonly ReplyAttribute[]): DiffRow[] {
  const names = [...new Set([...now, ...wanted].map(({ name }) => name.trim()))];
  const valueIn = (list: readonly ReplyAttribute[], name: string): string | null =>
    list.find((one) => one.name.trim() === name)?.value ?? null;
  return names.flatMap((name) => {
    const [before, after] = [valueIn(now, name), valueIn(wanted, name)];
    return before === after ? [] : [{ name, now: before, after }];
  });
}
