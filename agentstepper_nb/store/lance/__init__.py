"""Background agents as tables in LanceDB, for programs that read them.

Imports what `store` may.
Begin reading in `projection`: the tables that follow a store; `old_store` reads the rows that earlier
versions stored in LanceDB itself. See docs/guide/runtime-stores.md.
"""
