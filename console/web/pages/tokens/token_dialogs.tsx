// Dialogs of one hardware token: assign it, resynchronize it with two codes, and test a code.

import { useSignal } from "@preact/signals";
import type { HardwareTokenView, TokenCodeAnswer } from "../../../api/tokens/token_types.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { TextField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { SearchPicker } from "../../components/search_picker.tsx";
import { t } from "../../i18n/translate.ts";
import { createTokenCalls, findTokenUsers, tokenTypeText } from "./token_calls.ts";

interface TokenDialogProps {
  readonly models: Models;
  readonly token: HardwareTokenView;
  readonly onClose: () => void;
  /** Called after a change. */
  readonly onDone: (message: string) => void;
}

export function AssignDialog({ models, token, onClose, onDone }: TokenDialogProps) {
  const user = useSignal("");
  return (
    <FormDialog
      title={t("tokens.assign_title", { serial: token.serial })}
      submitLabel={t("tokens.do_assign")}
      reason={user.value === "" ? t("tokens.choose_user") : undefined}
      onClose={onClose}
      onSubmit={async () => {
        await createTokenCalls(models, token.id).assign(user.value);
        onDone(t("tokens.assigned", { serial: token.serial, name: user.value }));
      }}
    >
      <p class="quiet">{tokenTypeText(token)}</p>
      <SearchPicker
        id="token-user"
        label={t("common.user")}
        hint={t("tokens.user_hint")}
        none={t("tokens.no_user_found")}
        optionsLabel={t("tokens.found_users")}
        target=""
        find={async (text) =>
          (await findTokenUsers(models, text)).map(({ name, displayName }) => ({
            name,
            more: displayName !== "" && displayName !== name && <bdi class="quiet">{displayName}</bdi>,
          }))}
        onPick={(name) => {
          user.value = name;
          return Promise.resolve();
        }}
      />
      {user.value !== "" && (
        <p role="status">
          {t("tokens.chosen_user")}{" "}
          <strong>
            <bdi>{user.value}</bdi>
          </strong>
        </p>
      )}
    </FormDialog>
  );
}

const CODE_INPUT = {
  required: true,
  inputMode: "numeric",
  autocomplete: "off",
  pattern: "[0-9]{6,8}",
  maxLength: 8,
} as const;

export function ResynchronizeDialog({ models, token, onClose, onDone }: TokenDialogProps) {
  const first = useSignal("");
  const second = useSignal("");
  return (
    <FormDialog
      title={t("tokens.resync_title", { serial: token.serial })}
      submitLabel={t("tokens.do_resync")}
      onClose={onClose}
      onSubmit={async () => {
        await createTokenCalls(models, token.id).resynchronize([first.value, second.value]);
        onDone(t("tokens.resynced", { serial: token.serial }));
      }}
    >
      <p>{t(`tokens.resync_what_${token.kind}`)}</p>
      <TextField
        id="resync-first"
        label={t("common.first_code")}
        text={first}
        input={{ ...CODE_INPUT, autofocus: true }}
      />
      <TextField id="resync-second" label={t("common.next_code")} text={second} input={CODE_INPUT} />
    </FormDialog>
  );
}

export function TestCodeDialog({ models, token, onClose }: Omit<TokenDialogProps, "onDone">) {
  const code = useSignal("");
  const answer = useSignal<TokenCodeAnswer["check"] | null>(null);
  return (
    <FormDialog
      title={t("tokens.test_title", { serial: token.serial })}
      submitLabel={t("tokens.do_test")}
      cancelLabel={t("common.close")}
      onClose={onClose}
      onSubmit={async () => {
        answer.value = null;
        answer.value = await createTokenCalls(models, token.id).test(code.value);
        return "stay";
      }}
    >
      <p>{t("tokens.test_what")}</p>
      <TextField
        id="test-code"
        label={t("common.code")}
        text={code}
        input={{ ...CODE_INPUT, autofocus: true }}
      />
      {answer.value !== null && <CodeResult check={answer.value} />}
    </FormDialog>
  );
}

function CodeResult({ check }: TokenCodeAnswer) {
  const tone = check.kind === "valid" ? "ok" : check.kind === "wrong" ? "bad" : "wait";
  const ahead = "ahead" in check ? Math.abs(check.ahead) : 0;
  return (
    <Alert tone={tone} icon={check.kind === "valid" ? "check" : "alert"} role="status">
      {t(`tokens.check_${check.kind}`)} {ahead > 0 && t("tokens.check_ahead", { count: ahead })}
    </Alert>
  );
}
