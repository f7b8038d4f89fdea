// The page of a one-time link: creates an account with a password or a passkey, then sets up a second factor.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ClaimLink } from "../../../api/auth/invitations.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type AsyncValue, IDLE, readyValue } from "../../app/resource.ts";
import { startPath } from "../../app/routes.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { AuthLayout } from "../../components/page_layout.tsx";
import { Field, ReadOnlyField } from "../../components/field.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchLink, newRecoveryCodes, setUpWithPasskey, setUpWithPassword } from "../access/access_calls.ts";
import { CreatedRecoveryCodes, KeySetUp } from "../access/factor_set_up.tsx";
import {
  namedAddress,
  passkeyUnavailableReason,
  refreshSession,
  type SignInFailure,
} from "./sign_in_calls.ts";

/** `factor`: after a password. `codes` and `second_key`: after a passkey. */
type Step = "account" | "factor" | "second_key" | { readonly codes: readonly string[] };

export default function SetUpPage({ models }: PageProps) {
  const step = useSignal<Step>("account");
  const link = useSignal<AsyncValue<ClaimLink>>(IDLE);
  const token = useRef("");
  const state = link.value;
  /** The first owner continues with the set-up of the gateway. */
  const done = () => {
    const isInvited = state.kind === "ready" && state.value.kind === "invitation";
    const role = readyValue(models.session.session.peek())?.role;
    void refreshSession(models);
    models.router.go(isInvited ? startPath(role) : "/first-run");
  };
  useEffect(() => {
    if (token.current === "") token.current = location.hash.slice(1);
    // The link works once, so it is removed from the address bar and the history.
    history.replaceState(history.state, "", "/setup");
    fetchLink(models, token.current).then(
      (value) => link.value = { kind: "ready", value },
      (fault: unknown) => link.value = { kind: "failed", message: failureText(fault) },
    );
  }, []);
  if (typeof step.value === "object") {
    return (
      <AuthLayout title={t("common.recovery_title")} foot={t("signin.keys_foot")}>
        <CreatedRecoveryCodes codes={step.value.codes} onDone={() => step.value = "second_key"} />
      </AuthLayout>
    );
  }
  if (step.value === "factor" || step.value === "second_key") {
    return <KeyStep models={models} step={step.value} onDone={done} />;
  }
  // The kind of the link decides the height of the panel, so nothing is shown before it is known.
  if (state.kind === "idle") return <main class="auth" aria-busy="true" />;
  return (
    <AccountStep
      models={models}
      token={token}
      link={state.kind === "ready" ? state.value : null}
      known={state.kind === "failed" ? state.message : null}
      onDone={(codes) => step.value = codes === null ? "factor" : { codes }}
    />
  );
}

interface AccountProps {
  readonly models: Models;
  readonly token: { readonly current: string };
  readonly link: ClaimLink | null;
  /** Why the link is not valid. */
  readonly known: string | null;
  /** With the recovery codes of an account with a passkey; `null` with a password. */
  readonly onDone: (codes: readonly string[] | null) => void;
}

function AccountStep({ models, token, link, known, onDone }: AccountProps) {
  const problem = useSignal<SignInFailure | null>(null);
  const nameProblem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const invited = link?.kind === "invitation";
  const claim = () => {
    const field = (name: string) => String(new FormData(form.current ?? undefined).get(name) ?? "");
    return { token: token.current, name: link?.name ?? field("name"), password: field("password") };
  };
  const makeCodes = () => newRecoveryCodes(models).then(({ codes }) => codes, () => []);
  const run = async (way: "password" | "passkey") => {
    if (busy.value) return;
    nameProblem.value = invited || claim().name.trim() !== "" ? null : t("signin.name_missing");
    if (nameProblem.value !== null) return form.current?.querySelector<HTMLElement>("#set-up-name")?.focus();
    busy.value = true;
    problem.value = way === "password"
      ? await setUpWithPassword(models, claim())
      : await setUpWithPasskey(models, claim());
    // A passkey can be lost. Without codes, the account would be lost with it.
    const codes = problem.value === null && way === "passkey" ? await makeCodes() : null;
    busy.value = false;
    if (problem.value === null) onDone(codes);
  };
  const said = problem.value?.text ?? known;
  const isName = problem.value !== null && NAME_PROBLEMS.has(problem.value.code);
  const why = passkeyUnavailableReason();
  const passwordFields = (
    <PasswordPart
      verb={t(invited ? "signin.accept_verb" : "signin.owner_verb")}
      isPrimary={why !== null}
      isBusy={busy.value}
    />
  );
  return (
    <AuthLayout
      title={invited ? t("signin.accept") : t("signin.first_owner")}
      foot={t(invited ? "signin.invitation_foot" : "signin.link_foot")}
    >
      <form
        class="auth-form"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void run("password");
        }}
      >
        <p>
          {invited ? t("signin.accept_why", { role: t(`common.role_${link.role}`) }) : t("common.owner_why")}
        </p>
        {said !== null && !isName && <Alert tone="bad" role="alert">{said}</Alert>}
        {invited
          ? <ReadOnlyField label={t("common.name")}>{link.name}</ReadOnlyField>
          : <NameField problem={nameProblem.value ?? (isName ? said : null)} />}
        {why === null
          ? (
            <>
              <Button kind="primary" icon="key-round" busy={busy.value} onClick={() => run("passkey")}>
                {t(invited ? "signin.accept_passkey" : "signin.owner_passkey")}
              </Button>
              <details>
                <summary>{t("signin.password_instead")}</summary>
                <div class="auth-fields">{passwordFields}</div>
              </details>
            </>
          )
          : (
            <>
              {passwordFields}
              <p class="hint">{t(why, { url: namedAddress() })}</p>
            </>
          )}
      </form>
    </AuthLayout>
  );
}

interface PasswordPartProps {
  readonly verb: string;
  readonly isPrimary: boolean;
  readonly isBusy: boolean;
}

function PasswordPart({ verb, isPrimary, isBusy }: PasswordPartProps) {
  return (
    <>
      <Field
        id="set-up-password"
        label={t("common.password")}
        hint={t("signin.password_hint")}
        input={{
          name: "password",
          type: "password",
          autocomplete: "new-password",
          required: true,
          minLength: 12,
        }}
      />
      <Button type="submit" {...(isPrimary ? { kind: "primary" as const } : {})} busy={isBusy}>{verb}</Button>
    </>
  );
}

/** Refusals that concern the name, and are shown at its field. */
const NAME_PROBLEMS: ReadonlySet<string> = new Set(["bad_name", "name_taken"]);

function NameField({ problem }: { problem: string | null }) {
  return (
    <Field
      id="set-up-name"
      label={t("common.name")}
      problem={problem}
      input={{
        name: "name",
        autocomplete: "username",
        autocapitalize: "none",
        spellcheck: false,
        required: true,
        maxLength: 64,
        autofocus: true,
      }}
    />
  );
}

interface KeyStepProps {
  readonly models: Models;
  readonly step: "factor" | "second_key";
  readonly onDone: () => void;
}

function KeyStep({ models, step, onDone }: KeyStepProps) {
  const mustSetUp = readyValue(models.session.session.value)?.mustSetUpFactor === true;
  const isSecond = step === "second_key";
  return (
    <AuthLayout
      title={t(isSecond ? "signin.second_key" : "signin.second_factor")}
      foot={t(mustSetUp ? "signin.required_foot" : "signin.keys_foot")}
    >
      <div class="auth-form">
        <p>
          {t(
            isSecond
              ? "signin.second_key_why"
              : mustSetUp
              ? "signin.required_why"
              : "signin.second_factor_why",
          )}
        </p>
        <KeySetUp
          models={models}
          label={t(isSecond ? "signin.second_passkey" : "signin.first_passkey")}
          passkeyVerb={t(isSecond ? "signin.second_passkey_add" : "common.passkey_add")}
          onLater={mustSetUp ? undefined : onDone}
          onDone={onDone}
        />
      </div>
    </AuthLayout>
  );
}
