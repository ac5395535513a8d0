export { createRoomLeases, type LeasedUnit, ROOM_LEASE_MS } from './room-leases.ts'
