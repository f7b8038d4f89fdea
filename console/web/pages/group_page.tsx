// One group: its members, what a login of a member is answered with, where it stands, and how it is deleted.

import { useSignal } from "@preact/signals";
import type { GroupView } from "../../api/groups/group_types.ts";
import { whyNot } from "../access_words.ts";
import { createGroupCalls } from "../models/group_calls.ts";
import { hasFailure, type Said, saidOf, unsaidOf } from "../models/said.ts";
import { useResource } from "../models/resource.ts";
import { Button } from "../parts/button.tsx";
import { Fetched } from "../parts/connect/fetched.tsx";
import { GroupMembers } from "../parts/groups/group_members.tsx";
import { GroupPolicy } from "../parts/groups/group_policy.tsx";
import { late } from "../parts/late.tsx";
import { AuditLink } from "../parts/audit_link.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { receiptMessage } from "../parts/receipt_chips.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

const SaidNote = late(async () => (await import("../parts/people/said_note.tsx")).SaidNote);
const DeleteGroupDialog = late(async () =>
  (await import("../parts/groups/delete_group_dialog.tsx")).DeleteGroupDialog
);

interface Change {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** Another target has another group of the name: nothing of the one before stays. */
export default function GroupPage(props: PageProps) {
  return <GroupOfTarget key={props.models.router.param("target")} {...props} />;
}

function GroupOfTarget({ models, params }: PageProps) {
  const name = params.id ?? "";
  const target = models.router.param("target");
  const calls = createGroupCalls(models, { name, target });
  const loaded = useResource<GroupView>(models, { fetch: calls.read, inputs: [name, target] });
  const said = useSignal<Said | null>(null);
  const deleting = useSignal(false);
  const reason = whyNot(models, "user_manager");
  const group = loaded.state.value.kind === "ready" ? loaded.state.value.value : null;
  const shown = group?.name ?? name;

  /**
   * A saved change is a message over the page, so that nothing moves; a failure is a note, because it offers a retry. Of an
   * undo, a failure is a message as well, because the page may have been left.
   */
  const change = async (wanted: Change, { isUndo = false } = {}): Promise<boolean> => {
    try {
      const { group: now, receipt } = await calls.change(wanted);
      if (now !== null) loaded.put(now);
      const result = saidOf(textOf(wanted, shown), receipt);
      const isPartial = hasFailure(receipt);
      said.value = isPartial ? result : null;
      if (isPartial && !isUndo) return true;
      models.toasts.say(`${result.text} ${receiptMessage(receipt.entries)}`, {
        tone: result.tone,
        ...(wanted.remove.length > 0 && {
          undo: async () => void await change({ add: wanted.remove, remove: [] }, { isUndo: true }),
        }),
      });
      return true;
    } catch (fault) {
      const failure = unsaidOf(t("groups.not_changed", { group: shown }), fault);
      if (isUndo) models.toasts.say(failure.text, { tone: failure.tone });
      else said.value = failure;
      return false;
    }
  };
  return (
    <main class="page" id="page">
      <PageBar title={shown} back={{ href: "/groups", label: t("groups.all_groups") }}>
        <AuditLink object={`group:${shown}`} />
        {group !== null && (
          <Button
            kind="bad"
            icon="trash-2"
            reason={reason}
            onClick={() => deleting.value = true}
          >
            {t("groups.delete")}
          </Button>
        )}
      </PageBar>
      {said.value !== null && <SaidNote said={said} onRetry={() => loaded.reload()} />}
      <Fetched resource={loaded}>
        {(value) => (
          <>
            <GroupPolicy
              models={models}
              group={value}
              calls={calls}
              onChanged={(now) => loaded.put(now)}
            />
            <GroupMembers models={models} group={value} calls={calls} onChange={change} />
          </>
        )}
      </Fetched>
      {deleting.value && group !== null && (
        <DeleteGroupDialog
          models={models}
          group={group}
          calls={calls}
          onClose={() => deleting.value = false}
        />
      )}
    </main>
  );
}

function textOf({ add, remove }: Change, group: string): string {
  if (remove.length > 0) return t("groups.took_out", { count: remove.length, group });
  return add.length === 1
    ? t("groups.added", { name: add[0] ?? "", group })
    : t("groups.put_back", { count: add.length, group });
}
