import { Link } from '@tanstack/react-router'
import type { LiveEntry } from '../../../src/live/api.ts'
import { Time } from '../components/time.tsx'

/** An entry, with a link to its user. */
export function FeedEntry({ entry }: { readonly entry: LiveEntry }) {
  const { at, kind, title, marks, refusal, organization, project, requestId } = entry
  return (
    <li className={`entry ${kind}`}>
      <Time at={at} />
      <div>
        <p className="title">
          {refusal ? `Refused: ${title}` : title}
          {refusal && (
            <>
              {' '}
              <code>{refusal.reason}</code> <span className="pill expired">{refusal.status}</span>
            </>
          )}
          {marks.map((mark) => (
            <span key={mark} className="pill">
              {mark}
            </span>
          ))}
        </p>
        <p className="quiet about">
          <User entry={entry} />
          <span>
            {organization}/{project}
          </span>
          {refusal && (
            <span>
              {refusal.route}, key {refusal.key}
            </span>
          )}
          {requestId && (
            <span>
              request <code>{requestId}</code>
            </span>
          )}
        </p>
      </div>
    </li>
  )
}

function User({ entry: { userId, userName, organization, project } }: { readonly entry: LiveEntry }) {
  if (userId === null) return <span>no user</span>
  return (
    <Link to="/users/$organization/$project/$userId" params={{ organization, project, userId }} className="user">
      {userName ?? `user ${userId.slice(0, 8)}…`}
    </Link>
  )
}
