// A form whose changes are looked through before they are saved, and can be put aside.

import type { ComponentChildren } from "preact";
import { t } from "../words/translate.ts";
import { Button } from "./button.tsx";

interface ReviewedFormProps {
  readonly id?: string;
  /** Whose words it speaks. */
  readonly area: "people" | "connect";
  /** Nothing was changed yet. */
  readonly isSame: boolean;
  /** Why nothing may be changed. */
  readonly reason?: string | undefined;
  readonly onReview: () => void;
  readonly onDiscard: () => void;
  readonly children: ComponentChildren;
}

export function ReviewedForm(props: ReviewedFormProps) {
  const { id, area, isSame, reason, onReview, onDiscard, children } = props;
  return (
    <form
      id={id}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSame) onReview();
      }}
    >
      {children}
      <div class="form-end">
        <Button
          type="submit"
          kind="primary"
          reason={reason ?? (isSame ? t(`${area}.nothing_changed`) : undefined)}
        >
          {t(`${area}.review`)}
        </Button>
        {!isSame && <Button onClick={onDiscard}>{t(`${area}.discard`)}</Button>}
      </div>
    </form>
  );
}
