// Everything that can be done to one administrator, or to the link of one who is not there yet.

import { useSignal } from "@preact/signals";
import type { AdminRow, InvitationRow } from "../../../api/api_types.ts";
import {
  changeAdministrator,
  endSessionsOf,
  fetchSessionsOf,
  removeAdministrator,
  renewAdministrator,
  withdrawInvitation,
} from "../../models/access_calls.ts";
import { useDeed } from "../../models/deed.ts";
import { fullTimeText } from "../../format.ts";
import type { Models } from "../../models/models.ts";
import { useResource } from "../../models/resource.ts";
import { valueOf } from "../../remote.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { Dialog } from "../dialog.tsx";
import { choicesOf } from "../fields.tsx";
import { FixedField, SelectField } from "../inputs.tsx";
import { Problem } from "../note.tsx";
import { SecretDialog } from "../secret_once.tsx";
import { Time } from "../time.tsx";
import type { MakeProps } from "./invite_dialog.tsx";
import { ROLE_ROW } from "./role_row.ts";

type AdminProps = MakeProps & { readonly admin: AdminRow };

export function AdminDialog({ models, admin, onDone, onClose }: AdminProps) {
  const { name, origin } = admin;
  const now = useSignal(admin);
  const deed = useDeed();
  const link = useSignal<string | null>(null);
  const removing = useSignal(false);
  const run = <T,>(call: () => Promise<T>, said: (value: T) => string) =>
    deed.run(async () => {
      models.toasts.say(said(await call()), { tone: "ok" });
      onDone();
    });
  const change = (wanted: Parameters<typeof changeAdministrator>[2], said: (row: AdminRow) => string) =>
    run(() => changeAdministrator(models, name, wanted), (row) => {
      now.value = row;
      return said(row);
    });
  const renew = () =>
    deed.run(async () => {
      link.value = (await renewAdministrator(models, name)).url;
      onDone();
    });
  if (link.value !== null) {
    return <SecretDialog title={t("access.link_for", { name })} secret={link.value} onClose={onClose} />;
  }
  if (removing.value) return <RemoveAdmin {...{ models, admin, onDone, onClose }} />;
  const fixed = origin === "settings" ? t("access.settings_why") : undefined;
  const { role, disabled } = now.value;
  return (
    <Dialog title={name} onClose={onClose}>
      <Problem of={deed.fault} />
      {origin === "console"
        ? (
          <SelectField
            id="admin-role"
            label={t("access.change_role", { name })}
            {...choicesOf(ROLE_ROW, {
              value: role,
              onChange: (wanted) =>
                void change({ role: wanted }, (row) =>
                  t("access.role_said", { name, role: t(`frame.role_${row.role}`) })),
            })}
          />
        )
        : (
          <FixedField label={t("access.role")} hint={fixed ?? t("access.provider_role_why")}>
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
  readonly reason?: string | undefined;
  readonly bad?: boolean;
  readonly onDo: () => unknown;
}

function Deed({ label, hint, reason, bad = false, onDo }: DeedProps) {
  const said = reason ?? hint;
  return (
    <div>
      <Button kind={bad ? "bad" : undefined} reason={reason} onClick={onDo}>{label}</Button>
      {said !== undefined && <span class="hint">{said}</span>}
    </div>
  );
}

function RemoveAdmin({ models, admin: { name, origin }, onDone, onClose }: AdminProps) {
  return (
    <ConfirmDialog
      title={t("access.remove_title", { name })}
      verb={t("access.remove_verb")}
      onClose={onClose}
      onConfirm={async () => {
        await removeAdministrator(models, name);
        models.toasts.say(t("access.removed_said", { name }), { tone: "ok" });
        onDone();
      }}
    >
      <p>{t("access.remove_why")}</p>
      {origin === "provider" && <p>{t("access.remove_provider_why", { name })}</p>}
    </ConfirmDialog>
  );
}

export function InvitationDialog(
  { models, invitation, onDone, onClose }: MakeProps & { readonly invitation: InvitationRow },
) {
  const { id, name, role, deadlineMs } = invitation;
  const deed = useDeed();
  const withdraw = () =>
    deed.run(async () => {
      await withdrawInvitation(models, id);
      models.toasts.say(t("access.withdrawn_said", { name }), { tone: "ok" });
      onDone();
      onClose();
    });
  return (
    <Dialog title={name} onClose={onClose}>
      <Problem of={deed.fault} />
      <FixedField label={t("access.role")}>{t(`frame.role_${role}`)}</FixedField>
      <p>{t("access.link_until", { time: fullTimeText(deadlineMs) })}</p>
      <div class="access-deeds">
        <Deed label={t("access.withdraw")} bad onDo={withdraw} />
      </div>
    </Dialog>
  );
}
