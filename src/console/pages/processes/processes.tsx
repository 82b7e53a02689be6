export function ProcessesPage() {
  return null;
}
