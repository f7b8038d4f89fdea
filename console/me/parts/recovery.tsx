// Recovery codes: how many are left, and making new ones, which ends the old.

import { useSignal } from "@preact/signals";
import { useDeed } from "../../web/models/deed.ts";
import { ConfirmDialog } from "../../web/parts/confirm_dialog.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { Time } from "../../web/parts/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import { CodesDialog } from "./codes_dialog.tsx";
import type { FactorProps } from "./part_props.ts";
import { Nothing, Section } from "./section.tsx";

const CODES_EACH = 10;
/** With so many left or fewer, new ones are due. */
const FEW = 3;

export function Recovery({ models, account, me, factors: { recovery } }: FactorProps) {
  const asking = useSignal(false);
  const codes = useSignal<readonly string[] | null>(null);
  const problem = useSignal<string | null>(null);
  // A second call would replace the codes that the first one returns.
  const { busy, run } = useDeed();
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
      title={t("me.recovery")}
      why={t("me.recovery_why")}
      action={
        <button
          type="button"
          class="button"
          disabled={busy.value}
          onClick={() => hasCodes ? asking.value = true : void run(make)}
        >
          <Symbol name={hasCodes ? "refresh-cw" : "plus"} />
          {t(hasCodes ? "me.recovery_make_new" : "me.recovery_make")}
        </button>
      }
    >
      {problem.value !== null && !asking.value && <p class="me-problem" role="alert">{problem.value}</p>}
      {recovery.createdMs === null
        ? <Nothing title={t("me.recovery_none")} next={t("me.recovery_none_next")} />
        : (
          <div class="me-row">
            <Symbol name="list-checks" size={20} />
            <div class="me-row-text">
              <strong>{t("me.recovery_left", { count: recovery.left, of: CODES_EACH })}</strong>
              <span class={`me-meter ${recovery.left <= FEW ? "tone-wait" : "tone-ok"}`} aria-hidden="true">
                {Array.from({ length: CODES_EACH }, (_, at) => <i key={at} data-left={at < recovery.left} />)}
              </span>
              <span class="quiet small">
                {t("me.recovery_made")} <Time models={models} atMs={recovery.createdMs} />
                {recovery.left <= FEW && `. ${t("me.recovery_low")}`}
              </span>
            </div>
          </div>
        )}
      {asking.value && (
        <ConfirmDialog
          title={t("me.recovery_replace_title")}
          verb={t("me.recovery_make_new")}
          onClose={() => asking.value = false}
          onConfirm={make}
        >
          <p>{t("me.recovery_replace", { count: recovery.left })}</p>
        </ConfirmDialog>
      )}
      {codes.value !== null && (
        <CodesDialog
          user={me.userName}
          codes={codes.value}
          onClose={(isKept) => {
            codes.value = null;
            if (isKept) models.toasts.say(t("me.recovery_done"), { tone: "ok" });
          }}
        />
      )}
    </Section>
  );
}
