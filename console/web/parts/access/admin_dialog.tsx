// Everything that can be done to one administrator, or to the link of one who is not there yet.

import { useSignal } from "@preact/signals";
import type { AdminRow, InvitationRow } from "../../../api/shapes.ts";
import {
  changeAdministrator,
  endSessionsOf,
  fetchSessionsOf,
  removeAdministrator,
  renewAdministrator,
  withdrawInvitation,
} from "../../models/access_calls.ts";
import { sayOrProblem } from "../../models/deed.ts";
import { failureText } from "../../api_client.ts";
import { fullTimeText } from "../../format.ts";
import type { Models } from "../../models/models.ts";
import { useResource } from "../../models/resource.ts";
import { valueOf } from "../../remote.ts";
import { t } from "../../words/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { Dialog } from "../dialog.tsx";
import { FixedField } from "../inputs.tsx";
import { LinkDialog, RoleField } from "./invite_dialog.tsx";
import { Note } from "../note.tsx";
import { Time } from "../time.tsx";

interface AdminDialogProps {
  readonly models: Models;
  readonly admin: AdminRow;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function AdminDialog({ models, admin, onDone, onClose }: AdminDialogProps) {
  const { name, origin } = admin;
  const now = useSignal(admin);
  const problem = useSignal<string | null>(null);
  const link = useSignal<string | null>(null);
  const removing = useSignal(false);
  const run = async <T,>(call: () => Promise<T>, said: (value: T) => string) => {
    problem.value = await sayOrProblem(models, { call, said });
    if (problem.value === null) onDone();
  };
  const change = (wanted: Parameters<typeof changeAdministrator>[2], said: (row: AdminRow) => string) =>
    run(() => changeAdministrator(models, name, wanted), (row) => {
      now.value = row;
      return said(row);
    });
  const renew = async () => {
    try {
      link.value = (await renewAdministrator(models, name)).url;
      onDone();
    } catch (fault) {
      problem.value = failureText(fault);
    }
  };
  if (link.value !== null) return <LinkDialog name={name} url={link.value} onClose={onClose} />;
  if (removing.value) {
    return <RemoveAdmin models={models} admin={admin} onDone={onDone} onClose={onClose} />;
  }
  const fixed = origin === "settings" ? t("access.settings_why") : undefined;
  const { role, disabled } = now.value;
  return (
    <Dialog title={name} onClose={onClose}>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {origin === "console"
        ? (
          <RoleField
            id="admin-role"
            label={t("access.change_role", { name })}
            value={role}
            onChoose={(wanted) =>
              void change({ role: wanted }, (row) =>
                t("access.role_said", { name, role: t(`frame.role_${row.role}`) }))}
          />
        )
        : (
          <FixedField
            label={t("access.role")}
            hint={t(origin === "settings" ? "access.settings_why" : "access.provider_role_why")}
          >
            {t(`frame.role_${role}`)}
          </FixedField>
        )}
      <div class="access-deeds">
        <Deed
          label={t(disabled ? "access.enable" : "access.disable")}
          reason={fixed}
          onDo={() =>
            change({ disabled: !disabled }, () =>
              t(disabled ? "access.enabled_said" : "access.disabled_said", { name }))}
        />
        <Deed
          label={t("access.renew")}
          hint={t("access.renew_why")}
          reason={fixed ?? (origin === "provider" ? t("access.fail_provider_admin") : undefined)}
          onDo={renew}
        />
        <SessionsOf models={models} name={name} />
        <Deed
          label={t("access.end_sessions")}
          onDo={() =>
            run(() =>
              endSessionsOf(models, name), ({ ended }) =>
              t("access.ended_said", { name, count: ended }))}
        />
        <Deed
          label={t("access.remove")}
          reason={fixed}
          bad
          onDo={() =>
            removing.value = true}
        />
      </div>
    </Dialog>
  );
}

/** From where the person is signed in now. */
function SessionsOf({ models, name }: { models: Models; name: string }) {
  const resource = useResource(models, { fetch: () => fetchSessionsOf(models, name), inputs: [name] });
  const sessions = valueOf(resource.state.value)?.items ?? [];
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

/** More are counted, not listed. */
const MAX_SESSIONS = 5;

interface DeedProps {
  readonly label: string;
  readonly hint?: string;
  /** Why it cannot be done. */
  readonly reason?: string;
  readonly bad?: boolean;
  readonly onDo: () => unknown;
}

function Deed({ label, hint, reason, bad = false, onDo }: DeedProps) {
  const said = reason ?? hint;
  return (
    <div>
      <button
        type="button"
        class={`button ${bad ? "button-bad" : ""}`}
        disabled={reason !== undefined}
        title={reason}
        onClick={() => onDo()}
      >
        {label}
      </button>
      {said !== undefined && <span class="hint">{said}</span>}
    </div>
  );
}

function RemoveAdmin({ models, admin: { name, origin }, onDone, onClose }: AdminDialogProps) {
  return (
    <ConfirmDialog
      title={t("access.remove_title", { name })}
      verb={t("access.remove_verb")}
      onClose={onClose}
      onConfirm={async () => {
        const problem = await sayOrProblem(models, {
          call: () => removeAdministrator(models, name),
          said: () => t("access.removed_said", { name }),
        });
        if (problem === null) onDone();
        return problem;
      }}
    >
      <p>{t("access.remove_why")}</p>
      {origin === "provider" && <p>{t("access.remove_provider_why", { name })}</p>}
    </ConfirmDialog>
  );
}

interface InvitationProps {
  readonly models: Models;
  readonly invitation: InvitationRow;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function InvitationDialog({ models, invitation, onDone, onClose }: InvitationProps) {
  const { id, name, role, deadlineMs } = invitation;
  const problem = useSignal<string | null>(null);
  const withdraw = async () => {
    problem.value = await sayOrProblem(models, {
      call: () => withdrawInvitation(models, id),
      said: () => t("access.withdrawn_said", { name }),
    });
    if (problem.value !== null) return;
    onDone();
    onClose();
  };
  return (
    <Dialog title={name} onClose={onClose}>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      <FixedField label={t("access.role")}>{t(`frame.role_${role}`)}</FixedField>
      <p>{t("access.link_until", { time: fullTimeText(deadlineMs) })}</p>
      <div class="access-deeds">
        <Deed label={t("access.withdraw")} bad onDo={withdraw} />
      </div>
    </Dialog>
  );
}
