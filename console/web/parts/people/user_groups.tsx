// The groups of a user: taken out with one click, put in by a picker that asks the server.

import { useSignal } from "@preact/signals";
import { whyNot } from "../../access_words.ts";
import { hasFailure, saidOf } from "../../models/said.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { Button } from "../button.tsx";
import { Panel } from "../panel.tsx";
import { receiptMessage } from "../receipt_chips.tsx";
import { EmptyState } from "../states.tsx";
import { late } from "../late.tsx";

const GroupPicker = late(async () => (await import("./group_picker.tsx")).GroupPicker);

export function UserGroups({ models, user, calls, page }: UserPart) {
  const reason = whyNot(models, "user_manager");
  const busy = useSignal<string | null>(null);
  const groups = user.record?.groups ?? [];
  const change = async (group: string, verb: "add" | "remove"): Promise<void> => {
    busy.value = group;
    try {
      const json = verb === "add" ? { add: [group], remove: [] } : { add: [], remove: [group] };
      const answer = await calls.changeGroups(json);
      page.put(answer.user);
      const [outcome] = answer.groups;
      const words = { name: user.name, group };
      const text = t(verb === "add" ? "people.joined" : "people.left", words);
      const receipt = outcome?.receipt ?? null;
      if (outcome?.problem) page.failed(t("people.group_unchanged", words), new Error(outcome.problem));
      else if (receipt !== null && hasFailure(receipt)) page.said(text, receipt);
      else {
        // A message over the page, so that nothing moves.
        models.toasts.say(receipt === null ? text : `${text} ${receiptMessage(receipt.entries)}`, {
          tone: saidOf(text, receipt).tone,
          ...(verb === "remove" && { undo: () => change(group, "add") }),
        });
      }
    } catch (fault) {
      page.failed(t("people.group_unchanged", { name: user.name, group }), fault);
    }
    busy.value = null;
  };
  return (
    <Panel quiet title={t("frame.groups")}>
      <GroupPicker
        models={models}
        target={user.target}
        taken={groups}
        onPick={(group) => change(group, "add")}
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
                  onClick={() => change(group, "remove")}
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
