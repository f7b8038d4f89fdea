// The open account: who, what is the matter, logins that wait, factors, recent logins.

import { useEffect, useMemo } from "preact/hooks";
import type { Factor } from "../../../radius/flow/factors.ts";
import { fullTimeText, timeText } from "../../web/format.ts";
import { ErrorState, Skeleton } from "../../web/parts/states.tsx";
import { t } from "../../web/i18n/translate.ts";
import { createAccount, keepCurrent } from "../account.ts";
import type { MeInfo } from "../../api/account/account_types.ts";
import type { MeModels } from "../me_models.ts";
import { Alerts } from "./alerts.tsx";
import { Apps } from "./apps.tsx";
import { Heading } from "./heading.tsx";
import { FirstFactor } from "./first_factor.tsx";
import { Numbers } from "./numbers.tsx";
import { OpenLogins, RecentLogins } from "./logins.tsx";
import type { PartProps } from "./part_props.ts";
import { Phones } from "./phones.tsx";
import { StepUpDialog } from "./step_up_dialog.tsx";
import { Recovery } from "./recovery.tsx";

export function AccountView({ models, me }: { models: MeModels; me: MeInfo }) {
  const account = useMemo(() => createAccount(models), []);
  useEffect(() => keepCurrent(account, { session: models.session, window: globalThis.window }), []);
  const parts = { models, account, me };
  return (
    <>
      <Hero me={me} />
      <Alerts {...parts} />
      <OpenLogins {...parts} />
      <Factors {...parts} />
      <RecentLogins {...parts} />
      {account.steppingUp.value && <StepUpDialog account={account} />}
    </>
  );
}

function Hero({ me }: { me: MeInfo }) {
  const name = me.displayName ?? me.userName;
  return (
    <div class="me-hero">
      <span class="me-monogram" aria-hidden="true">{monogram(name)}</span>
      <div>
        <Heading>{name}</Heading>
        <p class="quiet">
          {me.displayName !== null && (
            <>
              <span class="mono">{me.userName}</span>
              {" · "}
            </>
          )}
          {t(me.via === "link" ? "me.via_link" : "me.via_phone")},{" "}
          <span title={fullTimeText(me.endsMs)}>
            {t("me.until", { time: timeText(me.endsMs).slice(0, 5) })}
          </span>
        </p>
      </div>
    </div>
  );
}

/** The first letters of the first and the last word. */
function monogram(name: string): string {
  const words = name.split(/[\s._-]+/).filter((word) => word !== "");
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined]
    .map((word) => [...(word ?? "")][0] ?? "");
  return letters.join("").toUpperCase();
}

function Factors(parts: PartProps) {
  const { factors } = parts.account;
  const state = factors.state.value;
  if (state.kind === "failed") {
    return (
      <ErrorState title={t("me.fail_factors")} onRetry={() => void factors.reload()}>
        {state.message}
      </ErrorState>
    );
  }
  if (state.kind !== "ready") return <Skeleton rows={5} />;
  const given = { ...parts, factors: state.value };
  const { enabled, devices, totp } = state.value;
  // What the gateway does not use is not offered; what is there all the same can be taken away.
  const uses = (factor: Factor) => enabled.includes(factor);
  return (
    <>
      {(uses("device") || devices.length > 0) && <Phones {...given} />}
      {(uses("totp") || totp.length > 0) && <Apps {...given} />}
      <Numbers {...given} />
      <Recovery {...given} />
      <FirstFactor {...given} />
    </>
  );
}
