"""One affiliate by ID, as JSON."""

import os
from contextlib import asynccontextmanager

import asyncpg
from fastapi import FastAPI
from fastapi.responses import ORJSONResponse

COMPANY = int(os.environ["PEER_COMPANY"])
STATEMENT = os.environ["PEER_SELECT"] + " where company_id = $1 and id = $2"
FOUND = {"msg": "Affiliate found."}


@asynccontextmanager
async def lifespan(app: FastAPI):
    app.state.pool = await asyncpg.create_pool(
        host=os.environ["PEER_HOST"],
        user=os.environ["PEER_USER"],
        database=os.environ["PEER_DATABASE"],
        min_size=8,
        max_size=8,
    )
    yield
    await app.state.pool.close()


app = FastAPI(lifespan=lifespan)


@app.get("/api/affiliates/{id}")
async def read(id: int):
    row = await app.state.pool.fetchrow(STATEMENT, COMPANY, id)
    if row is None:
        return ORJSONResponse({"code": "1025"}, status_code=404)
    return ORJSONResponse({"code": "1026", "status": "ok", "detail": FOUND, "data": dict(row)})
