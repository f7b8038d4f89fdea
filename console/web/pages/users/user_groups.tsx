// The groups of a user, with a picker to add one.

import { useSignal } from "@preact/signals";
import { hasFailure, toResultMessage } from "../../app/action.ts";
import { permissionHint } from "../../app/session_model.ts";
import { backendMessage } from "../../components/backend_results.tsx";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/alert.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import type { UserPart } from "./user_page_model.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { SearchPicker } from "../../components/search_picker.tsx";

interface GroupStep {
  readonly group: string;
  readonly verb: "add" | "remove";
  /** The page may be closed, so the result is a toast. */
  readonly isUndo?: boolean;
}

export function UserGroups({ models, user, calls, page }: UserPart) {
  const reason = permissionHint(models, "user_manager");
  const busy = useSignal<string | null>(null);
  const groups = user.record?.groups ?? [];
  const change = async ({ group, verb, isUndo = false }: GroupStep): Promise<void> => {
    busy.value = group;
    const fail = isUndo ? page.showUndoFailure : page.failed;
    const words = { name: user.name, group };
    try {
      const json = verb === "add" ? { add: [group], remove: [] } : { add: [], remove: [group] };
      const answer = await calls.changeGroups(json);
      page.put(answer.user);
      const [outcome] = answer.groups;
      const text = t(verb === "add" ? "common.added_to_group" : "users.left", words);
      const receipt = outcome?.receipt ?? null;
      const isPartial = receipt !== null && hasFailure(receipt);
      if (outcome?.problem) fail(t("common.group_unchanged", words), new Error(outcome.problem));
      else if (isPartial) page.said(text, receipt);
      if (!outcome?.problem && (!isPartial || isUndo)) {
        // A toast does not move the page.
        models.toasts.show(receipt === null ? text : `${text} ${backendMessage(receipt.entries)}`, {
          tone: toResultMessage(text, receipt).tone,
          ...(verb === "remove" && { undo: () => change({ group, verb: "add", isUndo: true }) }),
        });
      }
    } catch (fault) {
      fail(t("common.group_unchanged", words), fault);
    }
    busy.value = null;
  };
  return (
    <Panel quiet title={t("shell.groups")}>
      <GroupPicker
        models={models}
        target={user.target}
        taken={groups}
        onPick={(group) => change({ group, verb: "add" })}
        reason={reason}
      />
      {groups.length === 0
        ? <EmptyState title={t("users.no_groups")} next={t("users.no_groups_next")} />
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
                  {t("common.remove")}
                </Button>
              </li>
            ))}
          </ul>
        )}
    </Panel>
  );
}

interface PickerProps {
  readonly models: Models;
  readonly target: string;
  /** Groups that are not offered. */
  readonly taken: readonly string[];
  readonly onPick: (group: string) => Promise<void>;
  readonly reason?: string | undefined;
}

export function GroupPicker({ models, target, taken, onPick, reason }: PickerProps) {
  const find = async (text: string) => {
    const { names } = await models.session.whileSignedIn(() =>
      take(models.api["group-names"].$get({ query: { target, q: text } }))
    );
    return names.filter((name) => !taken.includes(name)).map((name) => ({ name }));
  };
  return (
    <SearchPicker
      id="group-picker"
      label={t("users.add_group")}
      hint={t("users.add_group_hint")}
      none={t("common.no_groups_match")}
      optionsLabel={t("users.found_groups")}
      target={target}
      find={find}
      onPick={onPick}
      reason={reason}
    />
  );
}
