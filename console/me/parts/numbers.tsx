// Phone numbers that get codes: shown, masked; an administrator changes them.

import { Icon } from "../../web/parts/icon.tsx";
import { Time } from "../../web/parts/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { FactorProps } from "./part_props.ts";
import { Section } from "./section.tsx";

export function Numbers({ models, factors: { numbers } }: FactorProps) {
  if (numbers.length === 0) return null;
  return (
    <Section title={t("me.numbers")} why={t("me.numbers_why")}>
      <ul class="me-rows">
        {numbers.map(({ pairingId, kind, number, createdMs }) => (
          <li class="me-row" key={pairingId}>
            <Icon name={kind === "sms" ? "text" : "call"} size={20} />
            <div class="me-row-text">
              <strong class="mono">{number}</strong>
              <span class="quiet small">
                {t(`me.number_${kind}`)} · {t("me.added_on")} <Time models={models} atMs={createdMs} />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}
