// The Help desk panel of a user: verify the caller, issue or revoke a bypass code, and handle a lost phone.

import { useSignal } from "@preact/signals";
import type { UserLoginView } from "../../../api/users/user_types.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import { VerifiedCaller } from "./verified_caller.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import type { FactorPart } from "./user_page_model.ts";

const dialogs = () => import("./help_desk_dialogs.tsx");
const VerifyCallerDialog = lazy(async () => (await dialogs()).VerifyCallerDialog);
const BypassDialog = lazy(async () => (await dialogs()).BypassDialog);
const LostPhoneDialog = lazy(async () => (await dialogs()).LostPhoneDialog);

type Opened = "verify" | "bypass" | "revoke" | "lost" | null;

export function HelpDeskPanel(part: FactorPart) {
  const { models, user, login } = part;
  const opened = useSignal<Opened>(null);
  const close = () => opened.value = null;
  const reason = permissionHint(models, "help_desk");
  const inactive = user.record?.active === true ? undefined : t("users.bypass_inactive");
  return (
    <section class="panel overview-panel" aria-labelledby="user-help-desk">
      <div class="panel-head">
        <h2 id="user-help-desk">{t("users.help_desk")}</h2>
      </div>
      <div class="help-desk">
        <div class="people-actions">
          <Button icon="user" reason={verifyReason(part)} onClick={() => opened.value = "verify"}>
            {t("users.verify_caller")}
          </Button>
          <Button icon="key-round" reason={reason ?? inactive} onClick={() => opened.value = "bypass"}>
            {t("users.bypass_issue")}
          </Button>
          <Button icon="smartphone" reason={reason ?? inactive} onClick={() => opened.value = "lost"}>
            {t("users.lost_phone")}
          </Button>
        </div>
        <VerifiedCaller {...part} />
        {login.bypass !== null && (
          <BypassRow
            {...part}
            bypass={login.bypass}
            reason={reason}
            onRevoke={() => opened.value = "revoke"}
          />
        )}
      </div>
      {opened.value === "verify" && <VerifyCallerDialog {...part} onClose={close} />}
      {opened.value === "bypass" && <BypassDialog {...part} onClose={close} />}
      {opened.value === "lost" && <LostPhoneDialog {...part} onClose={close} />}
      {opened.value === "revoke" && <RevokeBypassDialog {...part} onClose={close} />}
    </section>
  );
}

/** Why a caller cannot be verified. */
function verifyReason({ models, login }: FactorPart): string | undefined {
  if (!models.session.hasRole("operator") && !models.session.hasRole("help_desk")) {
    return permissionHint(models, "help_desk");
  }
  if (!login.canInvite) return t("users.verify_external");
  return login.pairings.some(({ kind }) => kind === "device") ? undefined : t("users.verify_no_phone");
}

interface BypassRowProps extends FactorPart {
  readonly bypass: NonNullable<UserLoginView["bypass"]>;
  readonly reason: string | undefined;
  readonly onRevoke: () => void;
}

function BypassRow({ models, bypass, reason, onRevoke }: BypassRowProps) {
  const { usesLeft, expiresMs, by, createdMs } = bypass;
  return (
    <p class="help-desk-bypass">
      <strong>{t("common.bypass_code")}</strong>
      <span>
        {usesLeft === null
          ? t("common.any_number_of_sign_ins")
          : t("common.sign_ins_left", { count: usesLeft })}
      </span>
      <span>
        {t("common.until")} <Time models={models} atMs={expiresMs} absolute />
      </span>
      <span class="quiet small">
        {t("common.issued_by", { by })} <Time models={models} atMs={createdMs} />
      </span>
      <Button small kind="bad" reason={reason} of={t("common.bypass_code")} onClick={onRevoke}>
        {t("users.revoke")}
      </Button>
    </p>
  );
}

function RevokeBypassDialog(
  { user: { name }, calls, page, onClose }: FactorPart & { readonly onClose: () => void },
) {
  return (
    <ConfirmDialog
      title={t("users.bypass_revoke_title", { name })}
      submitLabel={t("common.revoke_code")}
      onConfirm={async () => {
        page.put((await calls.revokeBypass()).user);
        page.said(t("users.bypass_revoked", { name }));
      }}
      onClose={onClose}
    >
      <p>{t("common.cannot_sign_in_with_it", { name })}</p>
    </ConfirmDialog>
  );
}
