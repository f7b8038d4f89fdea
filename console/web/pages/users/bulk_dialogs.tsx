// Bulk actions on users: their calls, and the dialogs that ask for a confirmation or a group.

import type { BulkAction, BulkPreview, JobView } from "../../../api/api_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useAction } from "../../app/action.ts";
import { ErrorAlert, Skeleton } from "../../components/alert.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { GroupPicker } from "./user_groups.tsx";

/** The filters of the list of users; an empty text for an unused filter. */
export type SelectionFilters = Readonly<
  Record<"q" | "status" | "enrolled" | "inactive" | "backend" | "sync", string>
>;

/** The users of the action: by name, or all that match the filters. */
export type UserChoice =
  | { readonly names: readonly string[] }
  | { readonly filters: SelectionFilters; readonly expected: number };

export interface BulkActionRequest {
  readonly target: string;
  readonly choice: UserChoice;
  readonly action: BulkAction;
  readonly group?: string;
  readonly backends: readonly string[] | null;
}

/** The server validates the filters. */
type BulkBody = Parameters<Models["api"]["bulk"]["$post"]>[0]["json"];

export function startBulkJob({ api, session }: Models, request: BulkActionRequest): Promise<JobView> {
  const { target, backends, ...rest } = request;
  const json = {
    ...rest,
    ...(target === "" ? {} : { target }),
    ...(backends === null ? {} : { backends: [...backends] }),
  } as BulkBody;
  return session.whileSignedIn(() => take(api.bulk.$post({ json })));
}

export function previewBulkAction(
  { api, session }: Models,
  { target, choice }: Pick<BulkActionRequest, "target" | "choice">,
): Promise<BulkPreview> {
  const json = { choice, ...(target === "" ? {} : { target }) } as Pick<BulkBody, "choice" | "target">;
  return session.whileSignedIn(() => take(api.bulk.preview.$post({ json })));
}

export function createJobCalls({ api, session }: Models, id: string) {
  const one = api.jobs[":id"];
  const param = escapeParams({ id });
  return {
    view: (): Promise<JobView> => session.whileSignedIn(() => take(one.$get({ param }))),
    stop: (): Promise<JobView> => session.whileSignedIn(() => take(one.stop.$post({ param, json: {} }))),
    undo: (): Promise<JobView> => session.whileSignedIn(() => take(one.undo.$post({ param, json: {} }))),
  };
}

interface LeaveProps {
  readonly action: "delete" | "deactivate";
  readonly models: Models;
  readonly target: string;
  readonly choice: UserChoice;
  readonly begin: () => Promise<void>;
  readonly onClose: () => void;
}

export function BulkRemoveDialog({ action, models, target, choice, begin, onClose }: LeaveProps) {
  const preview = useSignal<BulkPreview | null>(null);
  const form = useAction();
  useEffect(
    () => void form.run(async () => preview.value = await previewBulkAction(models, { target, choice })),
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
  return (
    <ConfirmDialog
      title={t(`users.bulk_${action}_title`, { count: seen.count })}
      submitLabel={t(`users.bulk_${action}_verb`, { count: seen.count })}
      count={seen.count}
      onConfirm={begin}
      onClose={onClose}
    >
      <Consequences preview={seen} isGone={action === "delete"} />
      <p>{action === "delete" ? t("users.trash_stay", { count: seen.count }) : t("users.gone_for_good")}</p>
    </ConfirmDialog>
  );
}

function Consequences({ preview, isGone }: { preview: BulkPreview; isGone: boolean }) {
  const { count, names, backends, factors, memberships, conversations } = preview;
  const more = count - names.length;
  return (
    <ul class="people-consequences">
      <li>
        <bdi>{names.join(", ")}</bdi> {more > 0 && t("common.and_more", { count: more })}
      </li>
      {backends.filter((one) => isGone && one.count > 0).map(({ name, count }) => (
        <li key={name}>{t("users.bulk_delete_from", { name, count })}</li>
      ))}
      {factors > 0 && <li>{t("users.bulk_delete_factors", { count: factors })}</li>}
      {memberships > 0 && <li>{t("users.bulk_delete_memberships", { count: memberships })}</li>}
      {conversations > 0 && <li>{t("users.bulk_delete_logins", { count: conversations })}</li>}
    </ul>
  );
}

interface GroupProps {
  readonly models: Models;
  readonly target: string;
  readonly action: "join" | "leave";
  readonly begin: (group: string) => Promise<void>;
  readonly onClose: () => void;
}

export function BulkGroupDialog({ models, target, action, begin, onClose }: GroupProps) {
  const form = useAction();
  const pick = (group: string) =>
    form.run(async () => {
      await begin(group);
      onClose();
    });
  return (
    <Dialog title={t(`users.bulk_${action}`)} onClose={onClose} action={form}>
      <ErrorAlert of={form.fault} />
      <GroupPicker models={models} target={target} taken={[]} onPick={pick} />
    </Dialog>
  );
}
