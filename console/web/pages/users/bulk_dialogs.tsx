// The dialogs that ask before a bulk action on users: what changes, and for a group which one.

import type { BulkAction, BulkPreview } from "../../../api/api_types.ts";
import type { Models } from "../../app/app_context.ts";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useAction } from "../../app/action.ts";
import { ErrorAlert, Skeleton } from "../../components/alert.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ConfirmDialog, FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { type PendingAction, previewBulkAction } from "./user_calls.ts";
import { GroupPicker } from "./user_groups.tsx";

export interface BulkTerms {
  readonly group?: string;
  /** The action removes factors or memberships, which undo cannot restore. */
  readonly isIrreversible?: boolean;
}

interface ConfirmBulkProps {
  readonly models: Models;
  readonly asked: PendingAction;
  readonly begin: (asked: PendingAction, terms: BulkTerms) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before the action: how many users, which ones, and what changes. */
export function BulkDialog(props: ConfirmBulkProps) {
  const { action } = props.asked;
  return action === "join" || action === "leave"
    ? <GroupDialog {...props} action={action} />
    : <StateDialog {...props} action={action} />;
}

function StateDialog(
  { models, asked, action, begin, onClose }: ConfirmBulkProps & {
    action: Exclude<BulkAction, "join" | "leave">;
  },
) {
  const preview = useSignal<BulkPreview | null>(null);
  const form = useAction();
  useEffect(
    () => void form.run(async () => preview.value = await previewBulkAction(models, asked.selected)),
    [],
  );
  const seen = preview.value;
  if (seen === null) {
    return (
      <Dialog title={t(`users.bulk_${action}`)} onClose={onClose}>
        {form.busy.value && <Skeleton rows={3} />}
        <ErrorAlert of={form.fault} />
      </Dialog>
    );
  }
  const { count } = seen;
  const shared = {
    title: t(`users.bulk_${action}_title`, { count }),
    submitLabel: t(`users.bulk_${action}_verb`, { count }),
    onClose,
  };
  const isIrreversible = action === "deactivate" && losesSomething(seen);
  const confirm = () => begin(asked, { isIrreversible });
  if (action === "activate") {
    return (
      <FormDialog {...shared} isQuestion onSubmit={confirm}>
        <Consequences preview={seen} action={action} />
      </FormDialog>
    );
  }
  return (
    <ConfirmDialog {...shared} count={count} onConfirm={confirm}>
      <Consequences preview={seen} action={action} />
      {(action === "delete" || isIrreversible) && (
        <p>{action === "delete" ? t("users.trash_stay", { count }) : t("users.gone_for_good")}</p>
      )}
    </ConfirmDialog>
  );
}

function losesSomething({ factors, memberships, conversations }: BulkPreview): boolean {
  return factors + memberships + conversations > 0;
}

function Consequences(
  { preview, action, group = "" }: { preview: BulkPreview; action: BulkAction; group?: string },
) {
  const { count, names, backends, factors, memberships, conversations, active, members } = preview;
  const more = count - names.length;
  const ends = action === "delete" || action === "deactivate";
  const same =
    { activate: active, deactivate: count - active, delete: 0, join: members, leave: count - members }[
      action
    ];
  return (
    <ul class="people-consequences">
      <li>
        <bdi>{names.join(", ")}</bdi> {more > 0 && t("common.and_more", { count: more })}
      </li>
      {action !== "delete" && <li>{t(`users.bulk_${action}_means`, { group })}</li>}
      {action !== "delete" && same > 0 && <li>{t(`users.bulk_${action}_same`, { count: same })}</li>}
      {backends.filter((one) => one.count > 0 && action === "delete").map(({ name, count }) => (
        <li key={name}>{t("users.bulk_delete_from", { name, count })}</li>
      ))}
      {ends && factors > 0 && <li>{t("users.bulk_delete_factors", { count: factors })}</li>}
      {ends && memberships > 0 && <li>{t("users.bulk_delete_memberships", { count: memberships })}</li>}
      {ends && conversations > 0 && <li>{t("users.bulk_delete_logins", { count: conversations })}</li>}
    </ul>
  );
}

/** Choosing a group only selects it. The button names the number of users. */
function GroupDialog(
  { models, asked, action, begin, onClose }: ConfirmBulkProps & { action: "join" | "leave" },
) {
  const group = useSignal<string | null>(null);
  const preview = useSignal<BulkPreview | null>(null);
  const problem = useSignal<unknown>(null);
  const { target, choice } = asked.selected;
  const count = "names" in choice ? choice.names.length : choice.expected;
  const pick = async (name: string) => {
    group.value = name;
    preview.value = problem.value = null;
    try {
      const seen = await previewBulkAction(models, { target, choice, group: name });
      if (group.value === name) preview.value = seen;
    } catch (fault) {
      if (group.value === name) problem.value = fault;
    }
  };
  const chosen = group.value;
  return (
    <FormDialog
      title={t(`users.bulk_${action}_title`, { count })}
      submitLabel={t(`users.bulk_${action}_verb`, { count })}
      reason={preview.value === null ? "" : undefined}
      onSubmit={() => begin(asked, { group: chosen ?? "" })}
      onClose={onClose}
    >
      <ErrorAlert of={problem} />
      <GroupPicker models={models} target={target} taken={[]} onPick={pick} />
      <div role="status">
        {chosen !== null && (
          <>
            <p>
              {t("users.bulk_group")}:{" "}
              <strong>
                <bdi>{chosen}</bdi>
              </strong>
            </p>
            {preview.value !== null && (
              <Consequences preview={preview.value} action={action} group={chosen} />
            )}
          </>
        )}
      </div>
    </FormDialog>
  );
}
