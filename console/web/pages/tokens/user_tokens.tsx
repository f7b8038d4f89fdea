// The hardware tokens on the page of a user: what they are, their last use, and the dialogs that assign, resynchronize and take them away.

import { useSignal } from "@preact/signals";
import type { HardwareTokenView } from "../../../api/tokens/token_types.ts";
import type { Models } from "../../app/app_context.ts";
import { Button } from "../../components/button.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import { SearchPicker } from "../../components/search_picker.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import type { FactorPart } from "../users/user_page_model.ts";
import { createTokenCalls, fetchHardwareTokens, tokenStateText, tokenTypeText } from "./token_calls.ts";

const ResynchronizeDialog = lazy(async () => (await import("./token_dialogs.tsx")).ResynchronizeDialog);

interface UserTokensProps extends FactorPart {
  /** Why nothing can be changed. */
  readonly reason: string | undefined;
}

/** The dialog: to assign a token, or to resynchronize one. */
type Opened = "assign" | HardwareTokenView | null;

export function UserTokens({ models, user: { name }, calls, page, login, reason }: UserTokensProps) {
  const opened = useSignal<Opened>(null);
  const { tokens = [] } = login;
  const onClose = () => opened.value = null;
  const onDone = (message: string) => {
    page.said(message);
    void calls.read().then(page.put, () => undefined);
  };
  const part = { models, user: name, onClose, onDone };
  const unassign = ({ id, serial }: HardwareTokenView) => {
    const words = { serial, name };
    models.question.value = {
      title: t("tokens.unassign_title", words),
      submitLabel: t("tokens.do_unassign"),
      text: t("tokens.unassign_what", words),
      isBad: true,
      async run() {
        await createTokenCalls(models, id).unassign();
        onDone(t("tokens.unassigned", words));
      },
    };
  };
  return (
    <>
      {tokens.length > 0 && (
        <ul class="people-list" aria-label={t("common.hardware_tokens")}>
          {tokens.map((one) => (
            <TokenRow
              key={one.id}
              {...{ models, reason }}
              token={one}
              onResync={() => opened.value = one}
              onUnassign={() => unassign(one)}
            />
          ))}
        </ul>
      )}
      <div class="people-actions">
        <Button
          icon="calculator"
          reason={reason}
          onClick={() => opened.value = "assign"}
        >
          {t("tokens.assign_one")}
        </Button>
      </div>
      {opened.value === "assign"
        ? <AssignTokenDialog {...part} />
        : opened.value !== null && <ResynchronizeDialog {...part} token={opened.value} />}
    </>
  );
}

function TokenRow({ models, token, reason, onResync, onUnassign }: {
  models: Models;
  token: HardwareTokenView;
  reason: string | undefined;
  onResync: () => void;
  onUnassign: () => void;
}) {
  const { serial, usedMs, state } = token;
  return (
    <li>
      <strong>{t("common.hardware_token")}</strong>
      <bdi class="mono">{serial}</bdi>
      <span class="quiet small">{tokenTypeText(token)}</span>
      <span class="quiet small">
        {t("common.last_used")}:{" "}
        {usedMs === null ? t("common.never") : <Time models={models} atMs={usedMs} />}
      </span>
      {state !== "assigned" && <span class="small">{tokenStateText(state)}</span>}
      <Button small reason={reason} of={serial} onClick={onResync}>
        {t("tokens.do_resync")}
      </Button>
      <Button
        small
        kind="bad"
        reason={reason}
        of={serial}
        onClick={onUnassign}
      >
        {t("tokens.do_unassign")}
      </Button>
    </li>
  );
}

/** Chooses a free token for the user. */
function AssignTokenDialog({ models, user, onClose, onDone }: {
  models: Models;
  user: string;
  onClose: () => void;
  onDone: (message: string) => void;
}) {
  const chosen = useSignal("");
  return (
    <FormDialog
      title={t("tokens.assign_to", { name: user })}
      submitLabel={t("tokens.do_assign")}
      reason={chosen.value === "" ? t("tokens.choose_token") : undefined}
      onClose={onClose}
      onSubmit={async () => {
        await createTokenCalls(models, chosen.value).assign(user);
        onDone(t("tokens.assigned", { serial: chosen.value, name: user }));
      }}
    >
      <SearchPicker
        id="free-token"
        label={t("tokens.serial")}
        hint={t("tokens.serial_hint")}
        none={t("tokens.no_free_token")}
        optionsLabel={t("tokens.free_tokens")}
        target=""
        find={async (text) =>
          (await fetchHardwareTokens(models, { q: text, state: "free", size: "20" })).rows.map((token) => ({
            name: token.serial,
            more: <span class="quiet">{tokenTypeText(token)}</span>,
          }))}
        onPick={(serial) => {
          chosen.value = serial;
          return Promise.resolve();
        }}
      />
      {chosen.value !== "" && (
        <p role="status">
          {t("tokens.chosen_token")}{" "}
          <strong class="mono">
            <bdi>{chosen.value}</bdi>
          </strong>
        </p>
      )}
    </FormDialog>
  );
}
