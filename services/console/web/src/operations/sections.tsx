import { Link } from '@tanstack/react-router'

/** The heading of all screens below Operations, and the way between them. */
export function Sections() {
  return (
    <>
      <header className="page-head">
        <h1>Operations</h1>
      </header>
      <nav aria-label="Operations" className="tabs">
        <Link to="/operations" activeOptions={{ exact: true, includeSearch: false }}>
          Consumers
        </Link>
        <Link to="/operations/replay" activeOptions={{ includeSearch: false }}>
          Replay
        </Link>
      </nav>
    </>
  )
}
