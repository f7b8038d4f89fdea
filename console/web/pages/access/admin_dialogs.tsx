// Dialogs of the administrators: invite, change or remove one, and withdraw an invitation.

import { useSignal } from "@preact/signals";
import type { AdminRow, InvitationRow } from "../../../api/api_types.ts";
import type { Role } from "../../../api/auth/admin_records.ts";
import { type Question, useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { fullTimeText } from "../../app/format.ts";
import { readyValue, useResource } from "../../app/resource.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ReadOnlyField, SelectField } from "../../components/field.tsx";
import { ConfirmDialog, FormDialog, SecretDialog } from "../../components/form_dialog.tsx";
import { choicesOf, type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import {
  changeAdministrator,
  endAdminSessions,
  fetchAdminSessions,
  inviteAdministrator,
  removeAdministrator,
  renewAdministrator,
  unlockAdministrator,
  withdrawInvitation,
} from "./access_calls.ts";

export const ROLE_ROW: FieldRow<{ role: Role }> = {
  name: "role",
  label: "common.role",
  /** From least to most. */
  choices: ["viewer", "help_desk", "operator", "user_manager", "owner"],
  choiceLabel: (role) => t(`common.role_${role}`),
};

type AdminProps = AccessDialogProps & { readonly admin: AdminRow };

type AdminChange = Parameters<typeof changeAdministrator>[2];

/** What an owner does with an account. A failure is shown in the dialog of the account. */
function useAdminActions({ models, admin, onDone }: Omit<AdminProps, "onClose">) {
  const { name } = admin;
  const now = useSignal(admin);
  const action = useAction();
  const link = useSignal<string | null>(null);
  const run = <T,>(call: () => Promise<T>, said: (value: T) => string) =>
    action.run(async () => {
      models.toasts.show(said(await call()), { tone: "ok" });
      onDone();
    });
  const change = async (wanted: AdminChange, said: (row: AdminRow) => string) => {
    const before = now.value;
    let isSaved = false;
    // The select shows the new role at once. If the server refuses it, the old role returns.
    now.value = { ...before, ...wanted };
    await run(() => changeAdministrator(models, name, wanted), (row) => {
      isSaved = true;
      now.value = row;
      return said(row);
    });
    if (!isSaved) now.value = before;
  };
  const renew = () =>
    action.run(async () => {
      link.value = (await renewAdministrator(models, name)).url;
      onDone();
    });
  const endSessions = () =>
    run(() => endAdminSessions(models, name), ({ ended }) => t("access.ended_said", { name, count: ended }));
  const unlock = () =>
    run(() => unlockAdministrator(models, name), (row) => {
      now.value = row;
      return t("access.unlocked");
    });
  return { now, action, link, change, renew, endSessions, unlock };
}

export function AdminDialog({ models, admin, onDone, onClose }: AdminProps) {
  const { name, origin } = admin;
  const { now, action, link, change, renew, endSessions, unlock } = useAdminActions({
    models,
    admin,
    onDone,
  });
  const removing = useSignal(false);
  if (link.value !== null) {
    return <SecretDialog title={t("access.link_for", { name })} secret={link.value} onClose={onClose} />;
  }
  if (removing.value) return <RemoveAdmin {...{ models, admin, onDone, onClose }} />;
  const fixed = origin === "settings" ? t("common.in_settings_file") : undefined;
  const { disabled } = now.value;
  const ask = { models, name };
  const setDisabled = () =>
    change(
      { disabled: !disabled },
      () => t(disabled ? "common.can_sign_in_again" : "access.disabled_said", { name }),
    );
  return (
    <Dialog title={name} onClose={onClose} action={action}>
      <ErrorAlert of={action.fault} />
      <RoleField admin={now.value} fixed={fixed} change={change} />
      <div class="access-rules">
        <ActionRow
          label={t(disabled ? "common.enable" : "common.disable")}
          reason={fixed}
          onDo={setDisabled}
        />
        <ActionRow
          ask={ask}
          label={t("access.renew")}
          hint={t("access.renew_why")}
          reason={fixed ?? (origin === "provider" ? t("errors.provider_admin") : undefined)}
          onDo={renew}
        />
        {now.value.codesLocked && (
          <ActionRow label={t("access.unlock")} hint={t("access.unlock_why")} onDo={unlock} />
        )}
        <SessionsOf models={models} name={name} />
        <ActionRow
          ask={ask}
          label={t("access.end_sessions")}
          text={t("access.end_sessions_what")}
          onDo={endSessions}
        />
        <ActionRow label={t("common.remove")} reason={fixed} bad onDo={() => removing.value = true} />
      </div>
    </Dialog>
  );
}

interface RoleFieldProps {
  readonly admin: AdminRow;
  /** Why the account cannot be changed here. */
  readonly fixed: string | undefined;
  readonly change: (wanted: AdminChange, said: (row: AdminRow) => string) => Promise<void>;
}

/** A select for an account of the console. Other accounts have their role from the settings file or the provider. */
function RoleField({ admin: { name, origin, role }, fixed, change }: RoleFieldProps) {
  if (origin !== "console") {
    return (
      <ReadOnlyField label={t("common.role")} hint={fixed ?? t("access.provider_role_why")}>
        {t(`common.role_${role}`)}
      </ReadOnlyField>
    );
  }
  return (
    <SelectField
      id="admin-role"
      label={t("access.change_role", { name })}
      {...choicesOf(ROLE_ROW, {
        value: role,
        onChange: (wanted) =>
          void change({ role: wanted }, (row) =>
            t("access.role_said", { name, role: t(`common.role_${row.role}`) })),
      })}
    />
  );
}

interface Asker {
  readonly models: Models;
  readonly name: string;
}

/** The dialog below shows the error of the action. */
function askAbout(
  { models, name }: Asker,
  { label, ...question }: Pick<Question, "text" | "run" | "isBad"> & { label: string },
): void {
  models.question.value = {
    title: t("access.ask", { action: label, name }),
    submitLabel: label,
    ...question,
  };
}

/** The open sessions of an administrator. */
function SessionsOf({ models, name }: { models: Models; name: string }) {
  const resource = useResource(models, { fetch: () => fetchAdminSessions(models, name), inputs: [name] });
  const sessions = readyValue(resource.state.value)?.items ?? [];
  return (
    <div>
      <strong>{t("access.sessions_of", { count: sessions.length })}</strong>
      <ul class="access-sessions">
        {sessions.slice(0, MAX_SESSIONS).map(({ id, source, agent, usedMs }) => (
          <li key={id} title={agent}>
            <bdi class="mono">{source}</bdi> · <Time models={models} atMs={usedMs} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Further sessions are only counted. */
const MAX_SESSIONS = 5;

interface ActionRowProps {
  readonly label: string;
  readonly hint?: string;
  /** Why the action is not available. */
  readonly reason?: string | undefined;
  readonly bad?: boolean;
  /** Asks first, with this text or the hint. */
  readonly ask?: Asker;
  readonly text?: string;
  readonly onDo: () => unknown;
}

function ActionRow({ label, hint, reason, bad = false, ask, text = hint, onDo }: ActionRowProps) {
  const said = reason ?? hint;
  const act = () =>
    ask === undefined ? onDo() : askAbout(ask, { label, text, run: async () => void await onDo() });
  return (
    <div>
      <Button kind={bad ? "bad" : undefined} reason={reason} onClick={act}>{label}</Button>
      {said !== undefined && <span class="hint">{said}</span>}
    </div>
  );
}

function RemoveAdmin({ models, admin: { name, origin }, onDone, onClose }: AdminProps) {
  return (
    <ConfirmDialog
      title={t("common.remove_title", { name })}
      submitLabel={t("access.remove_verb")}
      onClose={onClose}
      onConfirm={async () => {
        await removeAdministrator(models, name);
        models.toasts.show(t("common.name_removed", { name }), { tone: "ok" });
        onDone();
      }}
    >
      <p>{t("access.remove_why")}</p>
      {origin === "provider" && <p>{t("access.remove_provider_why", { name })}</p>}
    </ConfirmDialog>
  );
}

export function InvitationDialog(
  { models, invitation, onDone, onClose }: AccessDialogProps & { readonly invitation: InvitationRow },
) {
  const { id, name, role, deadlineMs } = invitation;
  const withdraw = async () => {
    await withdrawInvitation(models, id);
    models.toasts.show(t("access.withdrawn_said", { name }), { tone: "ok" });
    onDone();
    onClose();
  };
  return (
    <Dialog title={name} onClose={onClose}>
      <ReadOnlyField label={t("common.role")}>{t(`common.role_${role}`)}</ReadOnlyField>
      <p>{t("access.link_until", { time: fullTimeText(deadlineMs) })}</p>
      <div class="access-rules">
        <ActionRow
          ask={{ models, name }}
          label={t("access.withdraw")}
          text={t("access.withdraw_what")}
          bad
          onDo={withdraw}
        />
      </div>
    </Dialog>
  );
}

export interface AccessDialogProps {
  readonly models: Models;
  /** Called after a change, so that the list is fetched again. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const INVITE_ROWS: readonly FieldRow<{ name: string; role: Role }>[] = [
  { name: "name", label: "common.name", input: { required: true, maxLength: 64, autofocus: true } },
  ROLE_ROW,
];

export function InviteAdminDialog({ models, onDone, onClose }: AccessDialogProps) {
  const draft = useSignal<{ name: string; role: Role }>({ name: "", role: "viewer" });
  return (
    <FormDialog
      title={t("access.invite")}
      submitLabel={t("common.create_link")}
      onClose={onClose}
      onSubmit={async () => {
        const { url, invitation } = await inviteAdministrator(models, draft.value);
        onDone();
        return { title: t("access.link_for", { name: invitation.name }), secret: url };
      }}
    >
      <p>{t("access.invite_why")}</p>
      <FormFields prefix="invite" draft={draft} rows={INVITE_ROWS} />
    </FormDialog>
  );
}
