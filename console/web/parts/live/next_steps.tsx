// What a new owner does next: links to those pages that this console has.

import { visitOf } from "../../places.ts";
import { t } from "../../words/translate.ts";
import { Gate } from "../frame/gate.tsx";

const STEPS = [
  { href: "/clients", word: "access.next_clients" },
  { href: "/targets", word: "access.next_targets" },
  { href: "/users", word: "access.next_users" },
  { href: "/access#sign-in", word: "access.next_access" },
] as const;

export function NextSteps() {
  const steps = STEPS.filter(({ href }) => visitOf(href.split("#")[0] ?? "") !== null);
  return (
    <Gate title={t("access.next_title")} foot={t("access.next_why")}>
      <div class="gate-form">
        <ul class="gate-fields">
          {steps.map(({ href, word }) => (
            <li key={href}>
              <a href={href}>{t(word)}</a>
            </li>
          ))}
        </ul>
        <a class="button button-primary" href="/live">{t("access.next_live")}</a>
      </div>
    </Gate>
  );
}
