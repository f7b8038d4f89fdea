// What a login asks first, for who has more than one factor.

import { useSignal } from "@preact/signals";
import type { Factor } from "../../../radius/flow/factors.ts";
import { SelectField } from "../../web/parts/inputs.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { FactorProps } from "./part_props.ts";
import { Section } from "./section.tsx";

export function FirstFactor({ account, factors }: FactorProps) {
  const problem = useSignal<string | null>(null);
  const { devices, totp, numbers, enabled, preference } = factors;
  const held = new Set<Factor>(numbers.map(({ kind }) => kind));
  if (devices.length > 0) held.add("device");
  if (totp.length > 0) held.add("totp");
  const names = enabled.filter((factor) => held.has(factor));
  if (names.length < 2) return null;
  const choose = async (value: string) => {
    problem.value = null;
    await account.run({
      call: () => account.calls.prefer(names.find((name) => name === value) ?? null),
      said: t("me.first_done"),
      onProblem: (sentence) => problem.value = sentence,
    });
  };
  return (
    <Section title={t("me.first")} why={t("me.first_why")}>
      <div class="me-fields">
        <SelectField
          id="me-first"
          label={t("me.first_label")}
          problem={problem.value}
          value={preference ?? ""}
          options={[
            { value: "", label: t("me.first_auto") },
            ...names.map((name) => ({ value: name, label: t(`me.first_${name}`) })),
          ]}
          onChoose={(value) => void choose(value)}
        />
      </div>
    </Section>
  );
}
