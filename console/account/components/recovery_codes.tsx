// Recovery codes: how many are left, and new ones, which are shown once and replace the old ones.

import { useSignal } from "@preact/signals";
import { useAction } from "../../web/app/action.ts";
import { ConfirmDialog } from "../../web/components/form_dialog.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { Time } from "../../web/components/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import { type FactorProps, Nothing, Section } from "./section.tsx";
import { CopyButton } from "../../web/components/button.tsx";
import { Dialog } from "../../web/components/dialog.tsx";
import { Checkbox } from "../../web/components/field.tsx";
import { Alert } from "../../web/components/alert.tsx";

const CODES_EACH = 10;
/** At this number or below, the page recommends new codes. */
const MAX_FEW_LEFT = 3;

export function RecoveryCodesSection({ models, account, me, factors: { recovery } }: FactorProps) {
  const asking = useSignal(false);
  const codes = useSignal<readonly string[] | null>(null);
  const problem = useSignal<string | null>(null);
  // A second call would replace the codes that the first one returns.
  const { busy, run } = useAction();
  const make = async (): Promise<string | null> => {
    problem.value = null;
    const made = await account.run({
      call: account.calls.makeCodes,
      onProblem: (sentence) => problem.value = sentence,
    });
    if (made !== null) codes.value = made.codes;
    return problem.value;
  };
  const hasCodes = recovery.createdMs !== null && recovery.left > 0;
  return (
    <Section
      title={t("common.recovery_codes")}
      why={t("account.recovery_why")}
      action={
        <button
          type="button"
          class="button"
          disabled={busy.value}
          onClick={() => hasCodes ? asking.value = true : void run(make)}
        >
          <Icon name={hasCodes ? "refresh-cw" : "plus"} />
          {t(hasCodes ? "account.recovery_make_new" : "account.recovery_make")}
        </button>
      }
    >
      {problem.value !== null && !asking.value && <p class="me-problem" role="alert">{problem.value}</p>}
      {recovery.createdMs === null
        ? <Nothing title={t("account.recovery_none")} next={t("account.recovery_none_next")} />
        : (
          <div class="me-row">
            <Icon name="list-checks" size={20} />
            <div class="me-row-text">
              <strong>{t("account.recovery_left", { count: recovery.left, of: CODES_EACH })}</strong>
              <span
                class={`me-meter ${recovery.left <= MAX_FEW_LEFT ? "tone-wait" : "tone-ok"}`}
                aria-hidden="true"
              >
                {Array.from({ length: CODES_EACH }, (_, at) => <i key={at} data-left={at < recovery.left} />)}
              </span>
              <span class="quiet small">
                {t("common.created_at")} <Time models={models} atMs={recovery.createdMs} />
                {recovery.left <= MAX_FEW_LEFT && `. ${t("account.recovery_low")}`}
              </span>
            </div>
          </div>
        )}
      {asking.value && (
        <ConfirmDialog
          title={t("common.codes_renew_title")}
          submitLabel={t("account.recovery_make_new")}
          onClose={() => asking.value = false}
          onConfirm={make}
        >
          <p>{t("account.recovery_replace", { count: recovery.left })}</p>
        </ConfirmDialog>
      )}
      {codes.value !== null && (
        <CodesDialog
          user={me.userName}
          codes={codes.value}
          onClose={(isKept) => {
            codes.value = null;
            if (isKept) models.toasts.show(t("account.recovery_done"), { tone: "ok" });
          }}
        />
      )}
    </Section>
  );
}

interface CodesProps {
  readonly user: string;
  readonly codes: readonly string[];
  readonly onClose: (isKept: boolean) => void;
}

function CodesDialog({ user, codes, onClose }: CodesProps) {
  const kept = useSignal(false);
  const isStopped = useSignal(false);
  const close = () => {
    if (kept.value) onClose(true);
    else isStopped.value = true;
  };
  const title = t("account.recovery_codes", { user });
  return (
    <Dialog
      title={title}
      onClose={close}
      footer={
        <>
          {isStopped.value && !kept.value && (
            <button
              type="button"
              class="button button-plain"
              onClick={() => onClose(false)}
            >
              {t("common.skip")}
            </button>
          )}
          <button
            type="button"
            class="button button-primary"
            disabled={!kept.value}
            onClick={() => onClose(true)}
          >
            {t("common.done")}
          </button>
        </>
      }
    >
      <Alert tone="wait">{t("common.codes_once")}</Alert>
      <ol class="me-codes mono" aria-label={title}>
        {codes.map((code) => <li key={code}>{code}</li>)}
      </ol>
      <div class="me-actions">
        <CopyButton text={codes.join("\n")} what={t("common.copy")} />
        <button type="button" class="button button-small" onClick={() => globalThis.print()}>
          <Icon name="printer" size={14} />
          {t("account.recovery_print")}
        </button>
      </div>
      <Checkbox
        label={t("common.codes_saved")}
        checked={kept.value}
        onChange={(now) => kept.value = now}
      />
      {isStopped.value && !kept.value && (
        <Alert tone="bad" role="alert">{t("account.recovery_not_kept")}</Alert>
      )}
    </Dialog>
  );
}
