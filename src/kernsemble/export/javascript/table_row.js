"use strict";

// The row of a record {column: value}, as `evaluate` expects it. Dates are texts such as
// "2024-03-01" or "2024-03-01T10:30", without time zone.

const DAY = 864e5; // milliseconds

// Return the month (from 1), weekday (1 for Monday) or hour of days since 1970-01-01.
function datePart(part, days) {
  const date = new Date(Math.round(days * DAY));
  if (part === "month") return date.getUTCMonth() + 1;
  if (part === "weekday") return ((date.getUTCDay() + 6) % 7) + 1;
  return date.getUTCHours();
}

function rowOf(model, record) {
  return model.columns.map(({ name, is_date: isDate, part_of: source, part }) => {
    const value = record[source ?? name] ?? null;
    if (value === null || !(isDate || source)) return value;
    const days = Date.parse(value.includes("T") ? `${value}Z` : value) / DAY;
    return source ? datePart(part, days) : days;
  });
}
