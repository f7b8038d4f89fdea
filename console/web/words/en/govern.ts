// Words of the audit, in English.

export const words = {
  audit: "Audit",
  deeds: "What was done",
  at: "When",
  who: "Who",
  deed: "What",
  object: "To whom or what",
  change: "Before → after",
  from_place: "From",
  filter_actor: "Who",
  filter_object: "To, such as user:ada",
  since: "From",
  until: "Until",
  filter_by: "Show only {value}",
  more: "Show older",
  none: "Nothing is in the audit yet",
  none_next: "Each change stands here with who made it, for 90 days. Nobody can change or delete it.",
  none_match: "No record matches",
  none_match_next: "Nothing in the last 90 days fits these filters.",
  failed: "The audit could not be read.",
} as const;
