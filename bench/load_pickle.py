"""The peer of reading: CPython's own pickle.load, which every Python tool for snapshots pays first."""
import pickle
import sys

with open(sys.argv[1], "rb") as file:
    data = pickle.load(file)
print(sum(len(trace) for trace in data["device_traces"]), "events")
