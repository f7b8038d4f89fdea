// Authenticator apps: set up with a first code, removed.

import { useSignal } from "@preact/signals";
import { ConfirmDialog } from "../../web/parts/confirm_dialog.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { Time } from "../../web/parts/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import { AppDialog } from "./app_dialog.tsx";
import type { FactorProps } from "./part_props.ts";
import { Nothing, Section } from "./section.tsx";

export function Apps(props: FactorProps) {
  const { models, account, factors: { totp } } = props;
  const adding = useSignal(false);
  const removing = useSignal<string | null>(null);
  const gone = removing.value;
  return (
    <Section
      title={t("me.totp")}
      why={t("me.totp_why")}
      action={
        <button type="button" class="button" onClick={() => adding.value = true}>
          <Symbol name="plus" />
          {t(totp.length === 0 ? "me.totp_add" : "me.totp_add_another")}
        </button>
      }
    >
      {totp.length === 0
        ? <Nothing title={t("me.totp_none")} next={t("me.totp_none_next")} />
        : (
          <ul class="me-rows">
            {totp.map((app) => (
              <li class="me-row" key={app.pairingId}>
                <Symbol name="key-round" size={20} />
                <div class="me-row-text">
                  <strong>{t("me.totp_one")}</strong>
                  <span class="quiet small">
                    {t("me.totp_added_on")} <Time models={models} atMs={app.createdMs} />,{" "}
                    {app.lastUsedMs === null ? t("me.never_used") : (
                      <>
                        {t("me.used")} <Time models={models} atMs={app.lastUsedMs} />
                      </>
                    )}
                  </span>
                  {app.isLast && <span class="quiet small">{t("me.last_factor")}</span>}
                </div>
                {!app.isLast && (
                  <button
                    type="button"
                    class="button button-plain me-remove"
                    onClick={() => removing.value = app.pairingId}
                  >
                    <Symbol name="trash-2" />
                    <span>
                      {t("me.remove")}
                      <span class="unseen">{` ${t("me.totp_one")}`}</span>
                    </span>
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      {adding.value && <AppDialog {...props} onClose={() => adding.value = false} />}
      {gone !== null && (
        <ConfirmDialog
          title={t("me.totp_remove_title")}
          verb={t("me.totp_remove")}
          onClose={() => removing.value = null}
          onConfirm={async () => {
            let problem: string | null = null;
            await account.run({
              call: () => account.calls.removeTotp(gone),
              said: t("me.totp_removed"),
              onProblem: (sentence) => problem = sentence,
            });
            return problem;
          }}
        >
          <ul class="me-effects">
            <li>{t("me.totp_remove_1")}</li>
            <li>{t("me.totp_remove_2")}</li>
          </ul>
        </ConfirmDialog>
      )}
    </Section>
  );
}
