// One policy in the list: its sentence, its warnings, and its buttons.

import { useEffect, useRef } from "preact/hooks";
import type { Policy } from "../../../../radius/policy/policy.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { Alert } from "../../components/alert.tsx";
import { t } from "../../i18n/translate.ts";
import type { MissingNames } from "../../../api/policies/policy_types.ts";
import { conditionTexts, missingNames, outcomeText, uncheckedClients } from "./policy_text.ts";

const shortList = (names: readonly string[]) => names.slice(0, 4).join(", ") + (names.length > 4 ? " …" : "");

interface ItemProps {
  readonly policy: Policy;
  readonly position: { readonly at: number; readonly count: number };
  /** A link led to it. */
  readonly isChosen: boolean;
  /** Clients whose passwords the gateway does not check. */
  readonly unchecked: readonly string[];
  readonly missing: MissingNames;
  /** Why the policy cannot be changed. */
  readonly reason: string | undefined;
  readonly onMove: (step: -1 | 1) => void;
  readonly onEnable: (enabled: boolean) => void;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

const TONES = { deny: "bad", bypass: "wait", challenge: "ok" } as const;

export function PolicyItem(props: ItemProps) {
  const { policy, unchecked, reason, isChosen, onEnable, onEdit, onRemove } = props;
  const { id, name, enabled } = policy;
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) row.current?.scrollIntoView({ block: "center" });
  }, [isChosen]);
  return (
    <li
      ref={row}
      class="policy"
      data-policy={id}
      data-off={enabled ? undefined : ""}
      aria-current={isChosen ? "true" : undefined}
    >
      <div class="policy-main">
        <strong class="policy-name">
          <bdi>{name}</bdi>
          {!enabled && <span class="chip tone-idle">{t("common.off")}</span>}
        </strong>
        <p class="policy-sentence">
          <PolicySentence policy={policy} />
        </p>
        <PolicyWarning policy={policy} unchecked={unchecked} missing={props.missing} />
      </div>
      <div class="policy-actions">
        <MoveButtons {...props} />
        <Button
          small
          of={name}
          reason={reason}
          onClick={() => onEnable(!enabled)}
        >
          {t(enabled ? "common.turn_off" : "policies.turn_on")}
        </Button>
        <Button small icon="pencil" of={name} reason={reason} onClick={onEdit}>{t("common.edit")}</Button>
        <Button small icon="trash-2" of={name} reason={reason} onClick={onRemove}>
          {t("common.remove")}
        </Button>
      </div>
    </li>
  );
}

function MoveButtons({ policy: { name }, position: { at, count }, reason, onMove }: ItemProps) {
  return (
    <>
      {([-1, 1] as const).map((step) => {
        const label = t(step < 0 ? "policies.move_up" : "policies.move_down", { name });
        return (
          <button
            key={step}
            type="button"
            class="button button-small policy-move"
            data-step={step}
            aria-label={label}
            title={reason ?? label}
            disabled={reason !== undefined || (step < 0 ? at === 0 : at === count - 1)}
            onClick={() => onMove(step)}
          >
            <Icon name="chevron-down" size={14} />
          </button>
        );
      })}
    </>
  );
}

/** "If group is Contractors and network is not 10.0.0.0/8 → require an approval on the phone" */
export function PolicySentence({ policy: { conditions, outcome } }: {
  policy: Pick<Policy, "conditions" | "outcome">;
}) {
  const texts = conditionTexts(conditions);
  return (
    <>
      {texts.length === 0 ? t("policies.if_any") : t("policies.if")}{" "}
      {texts.map(({ name, text }, at) => (
        <span key={name}>
          {at > 0 && t("policies.and")}
          <bdi class="policy-condition">{text}</bdi>
        </span>
      ))} <Icon name="arrow-left" size={14} />
      <span class="unseen">{t("policies.then")}</span>{" "}
      <strong class={`tone-${TONES[outcome.kind]}`}>{outcomeText(outcome)}</strong>
    </>
  );
}

interface WarningProps {
  readonly policy: Pick<Policy, "conditions" | "outcome">;
  readonly unchecked: readonly string[];
  readonly missing: MissingNames;
}

export function PolicyWarning({ policy, unchecked, missing }: WarningProps) {
  const names = missingNames(policy, missing);
  return (
    <>
      {names.length > 0 && (
        <Alert tone="wait">{t("policies.warn_missing", { names: shortList(names) })}</Alert>
      )}
      {policy.outcome.kind === "bypass" && policy.outcome.unknownUsers === true && (
        <Alert tone="wait">{t("policies.warn_unknown_users")}</Alert>
      )}
      <PasswordWarning policy={policy} unchecked={unchecked} />
    </>
  );
}

/** Clients at which a second factor is not asked although the gateway does not check the password, and the opposite. */
function PasswordWarning({ policy, unchecked }: Omit<WarningProps, "missing">) {
  const clients = uncheckedClients(policy, unchecked);
  const { outcome } = policy;
  if (outcome.kind === "deny" || clients.length === 0) return null;
  const isTrusted = outcome.clientChecksPassword === true;
  const names = shortList(clients);
  return (
    <Alert tone="wait">
      {t(isTrusted ? "policies.warn_trusted" : "policies.warn_unchecked", { names })}
    </Alert>
  );
}
