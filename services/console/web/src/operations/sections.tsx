import { Link } from '@tanstack/react-router'

/** Title and tabs of the screens below Operations. */
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
        <Link to="/operations/catalog" activeOptions={{ includeSearch: false }}>
          Catalog revisions
        </Link>
        <Link to="/operations/changes" activeOptions={{ includeSearch: false }}>
          Changes
        </Link>
      </nav>
    </>
  )
}
