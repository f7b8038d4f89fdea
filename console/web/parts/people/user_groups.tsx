// The groups of a user: taken out with one click, put in by a picker that asks the server.

import { useSignal } from "@preact/signals";
import { whyNot } from "../../access_words.ts";
import { hasFailure, saidOf } from "../../models/said.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Panel } from "../panel.tsx";
import { receiptMessage } from "../receipt_chips.tsx";
import { EmptyState } from "../states.tsx";
import { late } from "../late.tsx";

const GroupPicker = late(async () => (await import("./group_picker.tsx")).GroupPicker);

interface GroupStep {
  readonly group: string;
  readonly verb: "add" | "remove";
  /** The page may have been left: what comes of it is a message. */
  readonly isUndo?: boolean;
}

export function UserGroups({ models, user, calls, page }: UserPart) {
  const reason = whyNot(models, "user_manager");
  const busy = useSignal<string | null>(null);
  const groups = user.record?.groups ?? [];
  const change = async ({ group, verb, isUndo = false }: GroupStep): Promise<void> => {
    busy.value = group;
    const fail = isUndo ? page.undoFailed : page.failed;
    const words = { name: user.name, group };
    try {
      const json = verb === "add" ? { add: [group], remove: [] } : { add: [], remove: [group] };
      const answer = await calls.changeGroups(json);
      page.put(answer.user);
      const [outcome] = answer.groups;
      const text = t(verb === "add" ? "people.joined" : "people.left", words);
      const receipt = outcome?.receipt ?? null;
      const isPartial = receipt !== null && hasFailure(receipt);
      if (outcome?.problem) fail(t("people.group_unchanged", words), new Error(outcome.problem));
      else if (isPartial) page.said(text, receipt);
      if (!outcome?.problem && (!isPartial || isUndo)) {
        // A message over the page, so that nothing moves.
        models.toasts.say(receipt === null ? text : `${text} ${receiptMessage(receipt.entries)}`, {
          tone: saidOf(text, receipt).tone,
          ...(verb === "remove" && { undo: () => change({ group, verb: "add", isUndo: true }) }),
        });
      }
    } catch (fault) {
      fail(t("people.group_unchanged", words), fault);
    }
    busy.value = null;
  };
  return (
    <Panel quiet title={t("frame.groups")}>
      <GroupPicker
        models={models}
        target={user.target}
        taken={groups}
        onPick={(group) => change({ group, verb: "add" })}
        reason={reason}
      />
      {groups.length === 0
        ? <EmptyState title={t("people.no_groups")} next={t("people.no_groups_next")} />
        : (
          <ul class="people-list">
            {groups.map((group) => (
              <li key={group}>
                <a href={`/groups/${encodeURIComponent(group)}`}>
                  <bdi>{group}</bdi>
                </a>
                <Button
                  small
                  icon="x"
                  disabled={busy.value !== null}
                  reason={reason}
                  of={group}
                  onClick={() => change({ group, verb: "remove" })}
                >
                  {t("people.take_out")}
                </Button>
              </li>
            ))}
          </ul>
        )}
    </Panel>
  );
}
