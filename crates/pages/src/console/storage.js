// Keeps the choice of columns, the saved filters, and what tabs must know about each other's sessions, but no tokens and no record data.

/** Returns a stored value, or null if there is none, storage is disabled, or the data is invalid. */
export function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

/** Stores a value, or removes it if it is null. Returns whether the browser allowed this. */
export function store(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
