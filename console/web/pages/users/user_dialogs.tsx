// Dialogs of a user: account link, password, deactivation and deletion.

import { useSignal } from "@preact/signals";
import type { UserDetails, UserView } from "../../../api/users/user_types.ts";
import {
  BackendChoice,
  backendSummary,
  firstChoice,
  noBackendReason,
  writableNames,
} from "../../components/backend_results.tsx";
import { ConfirmDialog, FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { Expiry } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { backendsOf, undoDeletion } from "./user_calls.ts";
import type { UserPart } from "./user_page_model.ts";
import { factorLabel } from "./user_states.tsx";

export function AccountLinkDialog(
  { models, user, calls, onClose }: UserPart & { readonly onClose: () => void },
) {
  const title = t("users.me_link_title", { name: user.name });
  return (
    <FormDialog
      title={title}
      submitLabel={t("common.create_link")}
      onSubmit={async () => {
        const { url, deadlineMs } = await calls.createAccountLink();
        const children = <Expiry models={models} atMs={deadlineMs} />;
        return { title, label: t("users.me_link"), secret: url, children };
      }}
      onClose={onClose}
    >
      <p>{t("users.me_link_what", { name: user.name })}</p>
    </FormDialog>
  );
}

const PASSWORD_ROWS: readonly FieldRow<{ password: string }>[] = [{
  name: "password",
  label: "users.new_password",
  input: { type: "password", required: true, autofocus: true, maxLength: 1024, autocomplete: "new-password" },
}];

export function PasswordDialog({ user, calls, page, onClose }: UserPart & { onClose: () => void }) {
  const draft = useSignal({ password: "" });
  const chosen = useSignal(firstChoice(user.backends));
  const set = async () => {
    const { user: changed, receipt } = await calls.setPassword({
      ...draft.value,
      ...backendsOf(chosen.value),
    });
    if (changed !== null) page.put(changed);
    page.said(t("users.password_set", { name: user.name }), receipt);
  };
  return (
    <FormDialog
      title={t("users.password_title", { name: user.name })}
      submitLabel={t("users.set_password")}
      failureTitle={t("users.password_not_set")}
      reason={noBackendReason(chosen, user.backends)}
      onSubmit={set}
      onClose={onClose}
    >
      <FormFields prefix="new" draft={draft} rows={PASSWORD_ROWS} />
      <BackendChoice backends={user.backends} chosen={chosen} />
    </FormDialog>
  );
}

interface DeactivateProps {
  readonly user: UserView;
  /** Shows its own result. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

export function DeactivateUserDialog({ user, onConfirm, onClose }: DeactivateProps) {
  const { name } = user;
  return (
    <ConfirmDialog
      title={t("users.deactivate_title", { name })}
      submitLabel={t("users.deactivate_verb", { name })}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <ul class="people-consequences">
        <UserConsequences user={user} />
      </ul>
      <p>{t("users.gone_for_good")}</p>
    </ConfirmDialog>
  );
}

export function DeleteUserDialog(
  { models, user, calls, page, record, onClose }: UserPart & {
    readonly record: UserDetails;
    readonly onClose: () => void;
  },
) {
  const chosen = useSignal(firstChoice(user.backends));
  const { name, backends } = user;
  const remove = async () => {
    const { receipt, user: left, trashed } = await calls.remove({
      version: record.version,
      ...backendsOf(chosen.value),
    });
    if (left !== null) {
      page.put(left);
      return page.said(t("users.deleted_there", { name }), receipt);
    }
    models.toasts.show(`${t("users.deleted", { name })} ${backendSummary(receipt.entries, "removed")}`, {
      ...(trashed !== undefined && {
        undo: () => undoDeletion(models, { target: user.target, id: trashed, name }),
      }),
    });
    models.router.go("/users");
  };
  const from = chosen.value ?? writableNames(backends);
  return (
    <ConfirmDialog
      title={t("users.delete_title", { name })}
      submitLabel={t("common.delete_name", { name })}
      reason={noBackendReason(chosen, user.backends)}
      onConfirm={remove}
      onClose={onClose}
    >
      <ul class="people-consequences">
        <li>
          {t("common.deleted_from", { count: from.length })} <bdi>{from.join(", ")}</bdi>
        </li>
        <UserConsequences user={user} />
      </ul>
      {from.length === backends.length && <p>{t("users.trash_stays")}</p>}
      <BackendChoice backends={backends} chosen={chosen} />
    </ConfirmDialog>
  );
}

/** The objects that the change removes, as list items. */
function UserConsequences({ user: { record, login } }: { readonly user: UserView }) {
  const groups = record?.groups ?? [];
  const pairings = login?.pairings ?? [];
  const tokens = login?.tokens ?? [];
  const conversations = login?.conversations ?? [];
  return (
    <>
      {groups.length > 0 && (
        <li>
          {t("users.delete_groups", { count: groups.length })} <bdi>{groups.join(", ")}</bdi>
        </li>
      )}
      {pairings.length > 0 && (
        <li>
          {t("users.delete_factors", { count: pairings.length })}{" "}
          {pairings.map(({ kind }) => factorLabel(kind)).join(", ")}
        </li>
      )}
      {tokens.length > 0 && (
        <li>
          {t("users.tokens_free", { count: tokens.length })} {tokens.map(({ serial }) => serial).join(", ")}
        </li>
      )}
      {conversations.length > 0 && <li>{t("users.delete_logins", { count: conversations.length })}</li>}
    </>
  );
}
