// The summary of one login: the result and its reason, the evidence and the fix, and the facts with links.

import type { ConversationView } from "../../../../radius/ports.ts";
import type { LoginDetails } from "../../../api/conversations/live_routes.ts";
import type { LiveModels as Models } from "./live_context.tsx";
import { fullTimeText, offsetText, spanText } from "../../app/format.ts";
import { messageOrName, reasonText } from "../../app/login_state_labels.ts";
import { userHref } from "../../app/routes.ts";
import { locationText } from "../../components/location.tsx";
import { InlineIcon } from "../../components/inline_icon.tsx";
import { PolicyLink } from "../../components/policy_link.tsx";
import { TimeLeft } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { ExplanationFix, SimilarUserText } from "./explanation_text.tsx";
import { clientText, isConfiguredClient } from "../../components/client_text.ts";

interface SummaryProps {
  readonly models: Models;
  readonly view: ConversationView;
  /** `null` until it is fetched. */
  readonly details: LoginDetails | null;
}

/** Why the login ended, or what it waits for, in one sentence. */
export function LoginReason({ models, view, details }: SummaryProps) {
  if (view.outcome === null) {
    return (
      <TimeLeft
        startMs={view.startedMs}
        deadlineMs={view.deadlineMs}
        nowMs={models.dataClock.nowMs.value}
        label={t("common.time_left")}
      />
    );
  }
  const explanation = details?.explanation ?? null;
  if (explanation !== null) return <p class="explain">{reasonText(explanation)}</p>;
  const last = view.moments.at(-1);
  if (view.outcome !== "accepted" || last === undefined) return null;
  return <p class="explain">{messageOrName(`explain.row_${last.row}`, last.row)}</p>;
}

export function LoginSummary({ models, view, details }: SummaryProps) {
  const explanation = view.outcome === null ? null : details?.explanation ?? null;
  const similar = details?.similar ?? null;
  return (
    <>
      <Evidence view={view} isPasswordRight={explanation?.values.passwordRight === 1} />
      {explanation !== null && (
        <div class="verdict">
          <ExplanationFix explanation={explanation} similar={similar} />
        </div>
      )}
      {explanation === null && similar !== null && (
        <div class="verdict">
          <SimilarUserText similar={similar} client={view.client} />
        </div>
      )}
      <Facts
        models={models}
        view={view}
        details={details}
      />
    </>
  );
}

/** The events that led to the result, without the last one, which the reason describes. */
const MAX_EVIDENCE = 5;

function Evidence({ view, isPasswordRight }: { view: ConversationView; isPasswordRight: boolean }) {
  const moments = (view.outcome === null ? view.moments : view.moments.slice(0, -1))
    .filter(({ row }) => row !== "no_first_factor").slice(-MAX_EVIDENCE);
  if (moments.length === 0 && !isPasswordRight) return null;
  return (
    <section aria-label={t("live.evidence")}>
      <h3>{t("live.evidence")}</h3>
      <ul class="evidence">
        {isPasswordRight && (
          <li>
            <span class="at">
              <InlineIcon name="check" />
            </span>
            {t("live.password_right")}
          </li>
        )}
        {moments.map(({ atMs, row }, at) => (
          <li key={at}>
            <span class="at mono">{offsetText(atMs - view.startedMs)}</span>
            {messageOrName(`explain.row_${row}`, row)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Facts({ models, view, details }: SummaryProps) {
  const node = details?.node ?? null;
  const location = details?.location ?? null;
  const password = passwordState({ view, details });
  const { policy, user, client, source, place, target, factor, phone, token, startedMs, updatedMs, outcome } =
    view;
  return (
    <dl class="facts">
      <dt>{t("common.user")}</dt>
      <dd>
        {user === "" ? t("live.no_name") : (
          <a href={userHref(user, target)}>
            <bdi>{user}</bdi>
          </a>
        )}
      </dd>
      <dt>{t("common.client")}</dt>
      <dd>
        {isConfiguredClient(client)
          ? (
            <a href={`/clients/${encodeURIComponent(client)}`}>
              <bdi>{client}</bdi>
            </a>
          )
          : clientText(client)}
      </dd>
      <dt>{t("live.client_address")}</dt>
      <dd>
        <AddressLink models={models} address={source} />
      </dd>
      {place !== "" && <dt>{t("common.caller")}</dt>}
      {place !== "" && (
        <dd>
          <AddressLink models={models} address={place} />
        </dd>
      )}
      {location !== null && <dt>{t("live.location")}</dt>}
      {location !== null && <dd>{locationText(location)}</dd>}
      {target !== undefined && <dt>{t("common.target")}</dt>}
      {target !== undefined && (
        <dd>
          <a href={`/targets/${encodeURIComponent(target)}`}>
            <bdi>{target}</bdi>
          </a>
        </dd>
      )}
      <dt>{t("common.factor")}</dt>
      <dd>
        {factor === null
          ? t(outcome === null ? "live.factor_none" : "live.factor_not_passed")
          : t(`common.factor_${factor}`)}
        {phone !== undefined && <bdi>{` · ${phone}`}</bdi>}
        {token !== undefined && (
          <>
            {" · "}
            <a href={`/tokens?q=${encodeURIComponent(token)}`}>
              <bdi class="mono">{token}</bdi>
            </a>
          </>
        )}
      </dd>
      <dt>{t("common.password")}</dt>
      <dd>{t(`live.password_${password}`)}</dd>
      <FirstFactorFacts view={view} />
      {policy !== undefined && <dt>{t("common.policy")}</dt>}
      {policy !== undefined && (
        <dd>
          <PolicyName models={models} name={policy} details={details} />
        </dd>
      )}
      {node !== null && <dt>{t("common.node")}</dt>}
      {node !== null && <dd>{node}</dd>}
      <dt>{t("common.started")}</dt>
      <dd>{fullTimeText(startedMs)}</dd>
      {outcome !== null && <dt>{t("common.duration")}</dt>}
      {outcome !== null && <dd>{spanText(updatedMs - startedMs)}</dd>}
    </dl>
  );
}

/** How the first-factor server checked the sign-in. With a tunnel, the name outside differs from the user who was checked inside. */
function FirstFactorFacts({ view: { user, relay, firstFactorServer } }: Pick<SummaryProps, "view">) {
  return (
    <>
      {relay !== undefined && <dt>{t("common.method")}</dt>}
      {relay !== undefined && <dd>{relay.method}</dd>}
      {relay !== undefined && relay.outer !== user && <dt>{t("live.outer_name")}</dt>}
      {relay !== undefined && relay.outer !== user && (
        <dd>
          <bdi>{relay.outer}</bdi>
        </dd>
      )}
      {firstFactorServer !== undefined && <dt>{t("live.first_factor_server")}</dt>}
      {firstFactorServer !== undefined && <dd class="mono">{firstFactorServer}</dd>}
    </>
  );
}

/** Whether the gateway checked the password. A sign-in in progress may check it later. */
function passwordState(
  { view, details }: Pick<SummaryProps, "view" | "details">,
): "correct" | "wrong" | "unchecked" | "not_yet" {
  if (view.passwordRight === true || details?.explanation?.values.passwordRight === 1) return "correct";
  if (details?.explanation?.code === "password_wrong") return "wrong";
  const isStarting = view.outcome === null && view.moments.length === 0;
  return isStarting ? "not_yet" : "unchecked";
}

/** The name that the policy had. It is a link while a policy has this name. */
function PolicyName({ models, name, details }: Pick<SummaryProps, "models" | "details"> & { name: string }) {
  if (details?.hasPolicy === true) return <PolicyLink models={models} name={name} />;
  return (
    <>
      <bdi>{name}</bdi>
      {details !== null && <span class="quiet">{` · ${t("live.policy_gone")}`}</span>}
    </>
  );
}

/** An address that filters the list by itself. The inspector stays open. */
function AddressLink({ models: { router }, address }: { models: Models; address: string }) {
  const query = new URLSearchParams({ q: address });
  const chosen = router.param("c");
  if (chosen !== "") query.set("c", chosen);
  return (
    <a class="mono" href={`/live?${query}`} title={t("common.only", { value: address })}>
      <bdi>{address}</bdi>
    </a>
  );
}
